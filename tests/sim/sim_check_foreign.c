/* What others have written onto the trainer's input: each message that it took must be a dead
 * letter of the same unit, once. */
#include "sim_check_impl.h"

void check_note_foreign(struct sim_check *c, enum sim_topic t, int32_t partition,
                        const struct sim_entry *m)
{
    if (t != SIM_CANDIDATES && t != SIM_CONTROL)
        return; /* labels are letters, and the memory leaves others out */
    SIM_MUST(c->w, c->n_foreign < CHECK_FOREIGN, "simulator: too many foreign messages");
    c->foreign[c->n_foreign++] = (struct check_foreign){t, partition, *m, false, false};
}

/* One that is there rather than one at the same offset that went with the log's tail. */
bool check_foreign_dead(struct sim_check *c, const struct sim_origin *o)
{
    struct check_foreign *found = NULL;
    for (uint32_t i = 0; i < c->n_foreign; i++) {
        struct check_foreign *f = &c->foreign[i];
        if (f->topic == o->topic && f->partition == o->partition && f->m.offset == o->offset &&
            (!found || !f->gone))
            found = f;
    }
    if (!found)
        return false;
    bool again = c->w->broker->logs[o->topic][o->partition].made > 0;
    SIM_MUST(c->w, !found->dead || again, "%s/%d@%lld went to dead-letter twice",
             sim_topic_names[o->topic], o->partition, (long long)o->offset);
    return found->dead = true;
}

void check_foreign_cut(struct sim_check *c, enum sim_topic t)
{
    for (uint32_t i = 0; i < c->n_foreign; i++) {
        struct check_foreign *f = &c->foreign[i];
        f->gone |= f->topic == t && f->m.offset >= sim_end(c->w->broker, t, f->partition);
    }
}

void check_foreign_taken(const struct sim_check *c)
{
    const struct sim_about *about = c->unit.about;
    for (uint32_t i = 0; i < c->n_foreign; i++) {
        const struct check_foreign *f = &c->foreign[i];
        int64_t at = f->m.offset;
        if (f->dead || f->gone || at >= c->unit.unit->offsets[f->topic][f->partition] ||
            at < about->from[f->topic][f->partition] ||
            (at >= about->gone[f->topic][f->partition] &&
             at < about->first[f->topic][f->partition]) ||
            !sim_readable(c->w->broker, &f->m))
            continue;
        sim_violated(c->w, "guarantee 8: %s/%d@%lld cannot be read, and is in no dead letter",
                     sim_topic_names[f->topic], f->partition, (long long)at);
    }
}
