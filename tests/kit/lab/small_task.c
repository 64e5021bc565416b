#include "kit/lab/small_task.h"

#include <string.h>

static void small_row(struct small_task *t, uint32_t i, struct fis_rng *rng)
{
    const uint32_t k = t->task.n_classes, m = t->task.n_groups;
    const uint32_t g = fis_rng_below(rng, m + 1) % m; /* the first group is twice as large */
    const double side = m == 1 ? 0 : 2.0 * g / (m - 1) - 1, a = fis_rng_normal(rng);
    const double level = a + .8 * side + .5 * fis_rng_normal(rng);
    const double at = (level + 1.6) / 3.2 * k;
    t->group[i] = g;
    t->y[i] = at < 0 ? 0 : at >= k ? k - 1 : (uint32_t)at;
    t->x[i][0] = (float)a;
    t->x[i][1] = (float)(side + .5 * fis_rng_normal(rng));
    t->x[i][2] = (float)fis_rng_normal(rng);
    t->x[i][3] = (float)(side - .5 * a + fis_rng_normal(rng));
}

static struct lab_protocol small_protocol(void)
{
    return (struct lab_protocol){.rounds = 3,
                                 .labels_per_round = 40,
                                 .warm_up_epochs = 5,
                                 .steps_per_round = 24,
                                 .hidden = 6,
                                 .batch = 32,
                                 .learning_rate = .05f,
                                 .momentum = .9f,
                                 .weight_decay = 5e-4f};
}

void small_task_make(struct small_task *t, uint32_t classes, uint32_t groups, uint64_t seed)
{
    static char names[][2] = {"a", "b", "c", "d", "e", "f"};
    static char *class_names[] = {names[0], names[1], names[2], names[3], names[4], names[5]};
    struct lab_split *s = &t->split;
    struct fis_rng rng;
    *t = (struct small_task){.spec = {.name = "small"}};
    t->spec.protocol[LAB_RICH] = t->spec.protocol[LAB_SCARCE] = small_protocol();
    t->task = (struct lab_task){.spec = &t->spec,
                                .n = SMALL_ROWS,
                                .n_classes = classes,
                                .n_groups = groups,
                                .positive = classes - 1,
                                .classes = class_names,
                                .y = t->y,
                                .group = t->group};
    fis_rng_seed(&rng, seed, 7);
    for (uint32_t i = 0; i < SMALL_ROWS; i++) {
        small_row(t, i, &rng);
        t->rows[i] = i;
    }
    *s = (struct lab_split){.task = &t->task, .seed = seed, .d = SMALL_D, .x = &t->x[0][0]};
    s->initial = t->rows;
    s->n_initial = SMALL_INITIAL;
    s->pool = s->initial + SMALL_INITIAL;
    s->n_pool = SMALL_POOL;
    s->validation = s->pool + SMALL_POOL;
    s->n_validation = SMALL_VALIDATION;
    s->test = s->validation + SMALL_VALIDATION;
    s->n_test = SMALL_TEST;
    s->validation_x = t->x[s->validation[0]];
    s->validation_y = t->y + s->validation[0];
    s->validation_group = t->group + s->validation[0];
    s->test_x = t->x[s->test[0]];
    s->test_y = t->y + s->test[0];
    s->test_group = t->group + s->test[0];
}

struct lab_options small_options(const struct small_task *t, enum fis_metric metric)
{
    struct lab_options o;
    lab_options_default(&t->spec, LAB_RICH, &o);
    o.metric = metric;
    o.seed = 3;
    o.fresh_steps = 100;
    return o;
}

int small_same(const struct lab_result *a, const struct lab_result *b)
{
    return memcmp(&a->test, &b->test, sizeof a->test) == 0 &&
           memcmp(&a->anchor, &b->anchor, sizeof a->anchor) == 0 && a->bought == b->bought &&
           a->kept == b->kept && a->rounds_rejected == b->rounds_rejected &&
           memcmp(&a->interpolation, &b->interpolation, sizeof a->interpolation) == 0;
}
