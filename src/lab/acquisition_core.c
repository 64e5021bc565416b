/* Acquisitions that are options of the selector itself. */
#include "lab/method.h"

const struct lab_acquisition lab_acquisition_none = {
    .name = "none", .algorithm = FIS_ALGORITHM_RANDOM, .buys_nothing = 1};

const struct lab_acquisition lab_acquisition_random = {.name = "random",
                                                       .algorithm = FIS_ALGORITHM_RANDOM};

const struct lab_acquisition lab_acquisition_entropy = {.name = "entropy",
                                                        .algorithm = FIS_ALGORITHM_ENTROPY};

const struct lab_acquisition lab_acquisition_mix = {
    .name = "mix", .algorithm = FIS_ALGORITHM_FIS_PLUS, .by_influence = 1};

const struct lab_acquisition lab_acquisition_ekg = {
    .name = "ekg", .algorithm = FIS_ALGORITHM_EKG, .by_influence = 1};

const struct lab_acquisition lab_acquisition_product = {
    .name = "product", .algorithm = FIS_ALGORITHM_PRODUCT, .by_influence = 1};

const struct lab_acquisition lab_acquisition_fis = {
    .name = "fis", .algorithm = FIS_ALGORITHM_FIS, .by_influence = 1};
