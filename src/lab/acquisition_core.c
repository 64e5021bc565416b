/* Acquisitions that are options of the selector itself. */
#include "lab/method.h"

const struct lab_acquisition lab_acquisition_none = {
    .name = "none", .algorithm = &fis_acquisition_random, .buys_nothing = 1};

const struct lab_acquisition lab_acquisition_random = {.name = "random",
                                                       .algorithm = &fis_acquisition_random};

const struct lab_acquisition lab_acquisition_entropy = {.name = "entropy",
                                                        .algorithm = &fis_acquisition_entropy};

const struct lab_acquisition lab_acquisition_mix = {
    .name = "mix", .algorithm = &fis_acquisition_fis_plus, .by_influence = 1};

const struct lab_acquisition lab_acquisition_ekg = {
    .name = "ekg", .algorithm = &fis_acquisition_ekg, .by_influence = 1};

const struct lab_acquisition lab_acquisition_product = {
    .name = "product", .algorithm = &fis_acquisition_product, .by_influence = 1};

const struct lab_acquisition lab_acquisition_fis = {
    .name = "fis", .algorithm = &fis_acquisition_fis, .by_influence = 1};
