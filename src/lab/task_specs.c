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
         .initial = .4,                                                                            \
         .labels_per_round = 192,                                                                  \
         .warm_up_epochs = 60,                                                                     \
         .steps_per_round = 200},                                                                  \
        {                                                                                          \
            DIGITS, .test = .4, .validation = .35, .initial = .1, .labels_per_round = 48,          \
                    .warm_up_epochs = 60, .steps_per_round = 200                                   \
        }                                                                                          \
    }

/* The paper's shares and budgets (section 5.1, appendix), by AdamW from scratch; so a longer
 * warm-up than its 5 epochs. Which images test is in the data. */
#define FACES                                                                                      \
    .hidden = 64, .batch = 128, .learning_rate = (float)FIS_DEFAULT_ADAMW_RATE,                    \
    .weight_decay = (float)FIS_DEFAULT_ADAMW_DECAY, .rounds = 10, .validation = .1,                \
    .scored_per_round = 25600,                                                                     \
    .vit = {.height = 64,                                                                          \
            .width = 64,                                                                           \
            .channels = 3,                                                                         \
            .patch = 8,                                                                            \
            .dim = 64,                                                                             \
            .depth = 4,                                                                            \
            .heads = 4,                                                                            \
            .mlp = 128},                                                                           \
    .adamw = true, .flip = true, .shift = 2, .rise = FIS_DEFAULT_WARM_UP_STEPS
#define CELEBA_IMAGES                                                                              \
    {                                                                                              \
        {FACES, .initial = .02, .labels_per_round = 256, .warm_up_epochs = 20,                     \
         .steps_per_round = 60},                                                                   \
        {                                                                                          \
            FACES, .initial = .005, .labels_per_round = 64, .warm_up_epochs = 60,                  \
                   .steps_per_round = 60                                                           \
        }                                                                                          \
    }

#define TASK(name_, file_, label_, positive_, leave_out_, protocol_, ...)                          \
    {                                                                                              \
        .name = (name_), .file = (file_), .label = (label_), .positive = (positive_),              \
        .leave_out = (leave_out_), .fetched = true, .protocol = protocol_, .sensitive = {          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define FACE_TASK(name_, label_)                                                                   \
    {                                                                                              \
        .name = (name_), .file = "", .label = (label_), .positive = "1", .sensitive = {"Male"},    \
        .layout = LAB_CELEBA, .rich = true, .protocol = CELEBA_IMAGES                              \
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
     .rich = true,
     .fetched = true,
     .protocol = MNIST},
    FACE_TASK("celeba-smiling-images", "Smiling"),
    FACE_TASK("celeba-attractive-images", "Attractive"),
    FACE_TASK("celeba-young-images", "Young"),
    FACE_TASK("celeba-big-nose-images", "Big_Nose"),
};
enum { TOKENS = 64, SPECS = sizeof specs / sizeof *specs };

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

/* Rounds such that no more than a third of `pool` is bought. */
static void fit_rounds(struct lab_protocol *p, uint32_t pool)
{
    const uint32_t most = pool / 3 / p->rounds;
    if (p->labels_per_round > most)
        p->labels_per_round = most ? most : 1;
}

void lab_protocol_for(uint32_t rows, enum lab_regime regime, struct lab_protocol *out)
{
    static const struct lab_protocol adult[LAB_REGIMES] = ADULT;
    *out = adult[regime];
    fit_rounds(out, (uint32_t)((double)rows * (1 - out->test) * (1 - out->initial)));
}

/* The smallest side that divides the image and leaves at most TOKENS patches. */
static uint32_t patch_of(uint32_t height, uint32_t width)
{
    uint32_t whole = 1;
    for (uint32_t p = 1; p <= height && p <= width; p++)
        if (height % p == 0 && width % p == 0) {
            whole = p;
            if (height / p * (width / p) <= TOKENS)
                return p;
        }
    return whole;
}

void lab_protocol_for_images(const struct lab_images *images, enum lab_regime regime,
                             struct lab_protocol *out)
{
    static const struct lab_protocol digits[LAB_REGIMES] = MNIST;
    uint32_t training = 0;
    *out = digits[regime];
    out->initial = regime == LAB_RICH ? .2 : .05;
    out->validation = .1;
    out->scored_per_round = 25600;
    out->vit.height = images->height;
    out->vit.width = images->width;
    out->vit.channels = images->channels;
    out->vit.patch = patch_of(images->height, images->width);
    for (uint32_t i = 0; images->part && i < images->n; i++)
        training += images->part[i] == LAB_TRAINING;
    fit_rounds(out, (uint32_t)((double)training * (1 - out->initial)));
}
