/* The built-in tasks, with the protocol of each. */
#include <string.h>

#include "fis/defaults.h"
#include "lab/task.h"

#define COMMON                                                                                     \
    .trees = FIS_DEFAULT_TREES_BELOW_COLUMNS, .hidden = FIS_DEFAULT_HIDDEN,                        \
    .batch = FIS_DEFAULT_BATCH, .learning_rate = (float)FIS_DEFAULT_LEARNING_RATE,                 \
    .momentum = (float)FIS_DEFAULT_MOMENTUM, .weight_decay = (float)FIS_DEFAULT_WEIGHT_DECAY,      \
    .rounds = 10

#define ADULT                                                                                      \
    {                                                                                              \
        {COMMON,                                                                                   \
         .test = .2,                                                                               \
         .validation = .2,                                                                         \
         .initial = .20,                                                                           \
         .labels_per_round = 512,                                                                  \
         .warm_up_epochs = 15,                                                                     \
         .steps_per_round = 120},                                                                  \
        {                                                                                          \
            COMMON, .test = .2, .validation = .2, .initial = .05, .labels_per_round = 128,         \
                    .warm_up_epochs = 60, .steps_per_round = 120                                   \
        }                                                                                          \
    }
#define COMPAS                                                                                     \
    {                                                                                              \
        {COMMON,                                                                                   \
         .test = .2,                                                                               \
         .validation = .2,                                                                         \
         .initial = .20,                                                                           \
         .labels_per_round = 128,                                                                  \
         .warm_up_epochs = 20,                                                                     \
         .steps_per_round = 60},                                                                   \
        {                                                                                          \
            COMMON, .test = .2, .validation = .2, .initial = .05, .labels_per_round = 32,          \
                    .warm_up_epochs = 60, .steps_per_round = 60                                    \
        }                                                                                          \
    }
#define CELEBA                                                                                     \
    {                                                                                              \
        {COMMON,                                                                                   \
         .test = .1,                                                                               \
         .validation = .1,                                                                         \
         .initial = .02,                                                                           \
         .labels_per_round = 256,                                                                  \
         .warm_up_epochs = 5,                                                                      \
         .steps_per_round = 60,                                                                    \
         .scored_per_round = 25600},                                                               \
        {                                                                                          \
            COMMON, .test = .1, .validation = .1, .initial = .005, .labels_per_round = 64,         \
                    .warm_up_epochs = 20, .steps_per_round = 60, .scored_per_round = 25600         \
        }                                                                                          \
    }

/* As many labels as Adult's, of a pool that is larger. */
#define HEALTH                                                                                     \
    {                                                                                              \
        {COMMON,                                                                                   \
         .test = .1,                                                                               \
         .validation = .1,                                                                         \
         .initial = .048,                                                                          \
         .labels_per_round = 512,                                                                  \
         .warm_up_epochs = 15,                                                                     \
         .steps_per_round = 120,                                                                   \
         .scored_per_round = 25600},                                                               \
        {                                                                                          \
            COMMON, .test = .1, .validation = .1, .initial = .012, .labels_per_round = 128,        \
                    .warm_up_epochs = 60, .steps_per_round = 120, .scored_per_round = 25600        \
        }                                                                                          \
    }

#define DIGITS                                                                                     \
    .hidden = 64, .batch = 64, .learning_rate = (float)FIS_DEFAULT_ADAMW_RATE,                     \
    .weight_decay = (float)FIS_DEFAULT_ADAMW_DECAY, .rounds = 8,                                   \
    .vit = {.height = 28,                                                                          \
            .width = 28,                                                                           \
            .channels = 3,                                                                         \
            .patch = 7,                                                                            \
            .dim = 32,                                                                             \
            .depth = 2,                                                                            \
            .heads = 4,                                                                            \
            .mlp = 64},                                                                            \
    .adamw = true, .rise = FIS_DEFAULT_WARM_UP_STEPS, .shift = 2
/* Initial rows are those whose colour says most of the label; the pool, validation and test rows
 * are of the others. */
#define MNIST                                                                                      \
    {                                                                                              \
        {DIGITS,                                                                                   \
         .test = .4,                                                                               \
         .validation = .35,                                                                        \
         .initial = .4,                                                                           \
         .labels_per_round = 192,                                                                  \
         .warm_up_epochs = 60,                                                                     \
         .steps_per_round = 200},                                                                  \
        {                                                                                          \
            DIGITS, .test = .4, .validation = .35, .initial = .1, .labels_per_round = 48,       \
                    .warm_up_epochs = 60, .steps_per_round = 200                                   \
        }                                                                                          \
    }

#define TASK(name_, file_, label_, positive_, leave_out_, protocol_, ...)                          \
    {                                                                                              \
        .name = (name_), .file = (file_), .label = (label_), .positive = (positive_),              \
        .leave_out = (leave_out_), .fetched = 1, .protocol = protocol_, .sensitive = {             \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct lab_task_spec specs[] = {
    TASK("adult-sex", "adult.csv", "income", ">50K", "age30,race3,occupation4", ADULT, "sex"),
    TASK("adult-age", "adult.csv", "income", ">50K", "age,race3,occupation4", ADULT, "age30"),
    TASK("adult-race", "adult.csv", "income", ">50K", "race,age30,occupation4", ADULT, "race3"),
    TASK("adult-occupation", "adult.csv", "occupation4", NULL, "occupation,age30,race3", ADULT,
         "sex"),
    TASK("compas", "compas.csv", "two_year_recid", "1", NULL, COMPAS, "race"),
    TASK("celeba-smiling", "celeba.csv", "Smiling", "1", NULL, CELEBA, "Male"),
    TASK("celeba-attractive", "celeba.csv", "Attractive", "1", NULL, CELEBA, "Male"),
    TASK("celeba-young", "celeba.csv", "Young", "1", NULL, CELEBA, "Male"),
    TASK("celeba-big-nose", "celeba.csv", "Big_Nose", "1", NULL, CELEBA, "Male"),
    TASK("celeba-attractive-young", "celeba.csv", "Attractive", "1", NULL, CELEBA, "Male", "Young"),
    TASK("celeba-big-nose-young", "celeba.csv", "Big_Nose", "1", NULL, CELEBA, "Male", "Young"),
    TASK("credit", "credit.csv", "default-payment-next-month", "1", NULL, ADULT, "SEX"),
    TASK("health", "health.csv", "charlson", "1", NULL, HEALTH, "sexMALE"),
    {.name = "mnist-colour",
     .file = "mnist-colour.csv",
     .label = "high",
     .positive = "1",
     .sensitive = {"colour"},
     .images = "mnist-colour.u8",
     .biased = "biased",
     .fetched = 1,
     .protocol = MNIST},
};
enum { SPECS = sizeof specs / sizeof *specs };

const char *const lab_tasks_all[] = {
    "adult-sex",         "adult-age",    "compas",          "celeba-smiling",
    "celeba-attractive", "celeba-young", "celeba-big-nose", NULL};

const struct lab_task_spec *lab_task_specs(uint32_t *n)
{
    *n = SPECS;
    return specs;
}

const struct lab_task_spec *lab_task_find(const char *name, struct fis_error *e)
{
    char names[FIS_ERROR_TEXT - 96] = "";
    for (uint32_t i = 0; i < SPECS; i++) {
        if (strcmp(name, specs[i].name) == 0)
            return &specs[i];
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, specs[i].name, sizeof names - strlen(names) - 1);
    }
    fis_fail(e, FIS_INPUT, "task: found '%s', allowed are %s", name, names);
    return NULL;
}

/* Rounds such that no more than a third of the pool is bought. */
void lab_protocol_for(uint32_t rows, enum lab_regime regime, struct lab_protocol *out)
{
    static const struct lab_protocol adult[LAB_REGIMES] = ADULT;
    double share = adult[regime].initial;
    *out = adult[regime];
    uint32_t pool = (uint32_t)((double)rows * (1 - out->test) * (1 - share));
    uint32_t most = pool / 3 / out->rounds;
    if (out->labels_per_round > most)
        out->labels_per_round = most ? most : 1;
}
