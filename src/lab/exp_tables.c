/* The special experiments but for the paper's (exp_paper.c): what is varied, and on what. */
#include <string.h>

#include "lab/exp_plan.h"

/* Two tasks that show the method at work, with enough validation rows to be judged. */
#define TWO_TASKS "adult-sex,celeba-big-nose"

static const struct lab_experiment ablations[] = {
    {.name = "budget",
     .summary = "labels of a round, times the protocol's",
     .tasks = TWO_TASKS,
     .metrics = "eod",
     .groups = {{.methods = "random,random+pub,fis,fis+",
                 .variants = ";budget=0.25;budget=0.5;budget=2;budget=4"}}},
    {.name = "validation",
     .summary = "share of the validation rows; under 500 the gate refuses and the anchor stands",
     .tasks = TWO_TASKS,
     .metrics = "eod",
     .groups = {{.methods = "fis+,random+pub,fis",
                 .variants = ";validation=0.75;validation=0.5;validation=0.35;validation=0.2"},
                {.methods = "random", .variants = ""}}},
    {.name = "strategy",
     .summary = "proxy labels of the published algorithm: I and II, which differ for K > 2 alone",
     .tasks = "adult-sex,adult-occupation",
     .metrics = "dp,eod",
     .groups = {{.methods = "fis", .variants = "strategy=1;strategy=2"},
                {.methods = "random", .variants = ""}}},
    {.name = "epsilon",
     .summary = "accuracy that the gate may give up",
     .tasks = TWO_TASKS,
     .metrics = "eod",
     .groups = {{.methods = "fis+,random+pub",
                 .variants = ";epsilon=0;epsilon=0.005;epsilon=0.01;epsilon=0.02;epsilon=0.05"},
                {.methods = "fis", .variants = ";epsilon=0.02;epsilon=0.05"},
                {.methods = "random", .variants = ""}}},
    {.name = "mix",
     .summary = "what a round buys (gain, entropy, both), and how hard `fis` pushes on the kept",
     .tasks = TWO_TASKS,
     .metrics = "eod",
     .groups = {{.methods = "fis+,ekg,entropy+pub,product,random+pub", .variants = ""},
                {.methods = "fis", .variants = ";mix=0.1;mix=0.5;mix=0.9"},
                {.methods = "random", .variants = ""}}},
    {.name = "window",
     .summary = "records that a round looks at, and one pass over the stream",
     .tasks = TWO_TASKS,
     .metrics = "eod",
     .groups = {{.methods = "fis+,entropy",
                 .variants = ";one-pass=1;scored=1000;scored=2500;scored=5000;scored=10000"},
                {.methods = "random", .variants = ""}}},
};
enum { ABLATIONS = sizeof ablations / sizeof *ablations };

const struct lab_experiment *lab_ablation(uint32_t i)
{
    return i < ABLATIONS ? &ablations[i] : NULL;
}

const struct lab_experiment *lab_ablation_find(const char *name, struct fis_error *e)
{
    for (uint32_t i = 0; i < ABLATIONS; i++)
        if (strcmp(ablations[i].name, name) == 0)
            return &ablations[i];
    fis_fail(e, FIS_INPUT,
             "ablation: found '%s', allowed are budget, validation, strategy, epsilon, mix, window",
             name);
    return NULL;
}

#define LABELS(share)                                                                              \
    ";label-noise=" share ";label-noise=" share " correction=forward where=both"                   \
    ";label-noise=" share " correction=forward where=both estimate=1"                              \
    ";label-noise=" share " correction=trim where=both"                                            \
    ";label-noise=" share " correction=both where=both"
#define GROUPS(share)                                                                              \
    ";group-noise=" share ";group-noise=" share " correction=forward where=both"                   \
    ";group-noise=" share " correction=forward where=both estimate=1"

const struct lab_experiment lab_exp_noise = {
    .name = "noise",
    .summary =
        "wrong labels and groups in validation with and without correction; noisy directions",
    .tasks = TWO_TASKS,
    .metrics = "eod",
    .groups = {{.methods = "fis+",
                .variants = ";correction=forward where=both estimate=1;correction=trim where=both"
                /* */ LABELS("0.1") LABELS("0.2") LABELS("0.4") GROUPS("0.1") GROUPS("0.2")},
               {.methods = "fis+",
                .variants = "label-noise=0.2 correction=forward where=guide;"
                            "label-noise=0.2 correction=forward where=gate"},
               {.methods = "fis+",
                .variants = "direction-noise=1;direction-noise=10;direction-noise=30;"
                            "direction-noise=100"},
               {.methods = "random,random+pub", .variants = ""}}};

const struct lab_experiment lab_exp_delay = {
    .name = "delay",
    .summary = "labels that come one or two rounds late",
    .tasks = TWO_TASKS,
    .metrics = "eod",
    .groups = {{.methods = "random,random+pub,fis,fis+", .variants = ";delay=1;delay=2"}}};

const struct lab_experiment lab_exp_stream = {
    .name = "stream",
    .summary = "one pass over the pool as a stream of windows, against the whole pool each round",
    .tasks = TWO_TASKS,
    .metrics = "eod",
    .groups = {{.methods = "random,entropy,fis,fis+", .variants = ";one-pass=1"}}};
