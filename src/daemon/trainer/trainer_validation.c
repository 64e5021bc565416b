#include "daemon/trainer/trainer_validation.h"

#include "daemon/trainer/trainer_load.h"

static int hand_over(struct example_topic *t, const struct fis_encoder *encoder,
                     struct trainer_role *role, const struct observer *observer,
                     struct fis_error *e)
{
    struct data_examples x;
    int rc = example_topic_build(t, encoder, &x, e);
    if (rc < 0)
        return rc;
    struct fis_rows rows = trainer_rows(&x);
    rc = trainer_role_validation(role, &rows, x.names.n, e);
    if (rc == 0)
        observe_next_groups(observer, (const char *const *)x.names.names, x.names.n);
    if (rc == 0)
        observe_validation(observer, example_topic_newest(t));
    if (rc == 0)
        log_line(LOG_LEVEL_INFO, "validation", "rows=%u groups=%u from=next_round", x.n, x.names.n);
    data_examples_done(&x);
    return rc;
}

int trainer_validation_follow(struct example_topic *t, const struct fis_encoder *encoder,
                              struct trainer_role *role, const struct observer *observer,
                              struct fis_error *e)
{
    struct fis_error why;
    bool changed = false;
    int rc = example_topic_turn(t, &changed, e);
    if (rc < 0 || !changed)
        return rc;
    rc = hand_over(t, encoder, role, observer, &why);
    if (rc == -FIS_INPUT) {
        log_line(LOG_LEVEL_ERROR, "validation", "text=\"kept as it was\" reason=\"%s\"", why.text);
        return 0;
    }
    if (rc < 0)
        *e = why;
    return rc;
}
