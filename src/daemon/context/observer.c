#include "daemon/context/observer.h"

void observe_model(const struct observer *o, const struct wire_model *v)
{
    if (o->model)
        o->model(o->arg, v);
}

void observe_state(const struct observer *o, const struct wire_trainer_state *s)
{
    if (o->state)
        o->state(o->arg, s);
}

void observe_sent_model(const struct observer *o, const struct wire_model *v)
{
    if (o->sent_model)
        o->sent_model(o->arg, v);
}

void observe_sent_state(const struct observer *o, const struct wire_trainer_state *s)
{
    if (o->sent_state)
        o->sent_state(o->arg, s);
}

void observe_sent_over(const struct observer *o, bool committed)
{
    if (o->sent_over)
        o->sent_over(o->arg, committed);
}

void observe_trouble(const struct observer *o, const char *text)
{
    if (o->trouble)
        o->trouble(o->arg, text);
}

void observe_validation(const struct observer *o, int64_t newest_ms)
{
    if (o->validation)
        o->validation(o->arg, newest_ms);
}

void observe_groups(const struct observer *o, const char *const *names, uint32_t n)
{
    if (o->groups)
        o->groups(o->arg, names, n);
}

void observe_next_groups(const struct observer *o, const char *const *names, uint32_t n)
{
    if (o->next_groups)
        o->next_groups(o->arg, names, n);
}
