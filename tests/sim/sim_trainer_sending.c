/* The rows of a simulated trainer, and what it sends and commits. */
#include <stdio.h>
#include <string.h>

#include "sim_trainer_impl.h"

/* ---- rows ---------------------------------------------------------------------------------- */

static struct fis_encoder *fit(struct sim_trainer *t)
{
    const struct sim_data *d = t->w->data;
    struct fis_error e;
    struct fis_encoder *enc = fis_encoder_new(d->columns, t->w->plan->d, 10, &e);
    SIM_MUST(t->w, enc && fis_encoder_expect_trees(enc, t->w->plan->margins, &e) == 0,
             "encoder: %s", e.text);
    for (uint32_t i = 0; i < t->w->plan->initial; i++) {
        struct fis_value row[SIM_D_MAX];
        for (uint32_t c = 0; c < t->w->plan->d; c++)
            row[c] = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = d->initial_x[i][c]};
        SIM_MUST(t->w, fis_encoder_observe(enc, row, &e) == 0, "encoder: %s", e.text);
    }
    SIM_MUST(t->w, fis_encoder_finish(enc, &e) == 0, "encoder: %s", e.text);
    return enc;
}

int sim_trainer_initial(void *ctx, struct fis_encoder **encoder, struct session_rows *out,
                        struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    const struct sim_plan *plan = t->w->plan;
    (void)e;
    if (!t->start_at)
        t->start_at = t->w->now + sim_between(t->w, SIM_RNG_NET, 0, 800);
    if (t->w->now < t->start_at)
        return 0;
    if (!*encoder)
        *encoder = fit(t);
    uint32_t width = plan->d + plan->margins;
    float *x = sim_alloc(t->w, plan->initial * width * sizeof *x);
    for (uint32_t i = 0; i < plan->initial; i++)
        memcpy(x + i * width, t->w->data->initial_x[i], width * sizeof *x);
    *out = (struct session_rows){{plan->initial, width, x, t->w->data->initial_y, NULL}, 0};
    return 1;
}

int sim_trainer_validation(void *ctx, const struct fis_encoder *encoder, struct session_rows *out,
                           struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    const struct sim_validation *v = &t->w->data->validation[t->w->data->current];
    (void)encoder;
    (void)e;
    if (t->validation == t->w->data->current)
        return 0;
    t->validation = t->w->data->current;
    uint32_t width = t->w->plan->d + t->w->plan->margins;
    *out = (struct session_rows){{v->n, width, v->x, v->y, v->group}, 2};
    return 1;
}

void sim_trainer_ready(void *ctx, struct trainer_role *role)
{
    struct sim_trainer *t = ctx;
    const struct partition *p = t->readers[SESSION_READ_MEMORY].p;
    struct session_status s;
    uint32_t foreign = 0;
    for (uint32_t i = 0; i < SESSION_MEMORY_TOPICS; i++)
        foreign += sim_foreign_before(t->w->broker, sim_topics[i], p[i * SIM_PARTITIONS].end);
    session_status(t->session, &s);
    SIM_MUST(t->w, s.left_out >= foreign,
             "guarantee 8: %llu messages of the memory were left out; %u are none of a trainer's",
             (unsigned long long)s.left_out, foreign);
    if (t->txn.epoch ==
        t->w->broker->producers[0].epoch) /* else another sim_trainer_leads by now */
        sim_check_restored(t->w, role);
}

/* ---- sending ------------------------------------------------------------------------------- */

int sim_trainer_send(void *ctx, enum session_topic topic, struct wire_bytes key,
                     struct wire_bytes value, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    enum sim_topic to = sim_topics[topic];
    SIM_MUST(t->w, !t->committing, "a message is sent while a unit is being committed");
    if (sim_faults_send(t->w))
        return fis_fail(e, FIS_ABORT_TXN, "the queue is full");
    int32_t p = to == SIM_REQUESTS ? sim_partition_of(t->w->broker, to, key) : 0;
    sim_txn_send(&t->txn, to, p, key, value, NULL);
    return 0;
}

static enum sim_topic topic_named(const struct sim_trainer *t, const char *name)
{
    for (int i = 0; i < SIM_TOPICS; i++)
        if (strcmp(sim_topic_names[i], name) == 0)
            return (enum sim_topic)i;
    sim_violated(t->w, "a dead letter of topic %s, which there is not", name);
}

int sim_trainer_dead_letter(void *ctx, const struct wire_message *m, const struct fis_error *why,
                            struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    enum sim_topic topic = topic_named(t, m->topic);
    (void)e;
    char *reason = sim_alloc(t->w, strlen(why->text) + 1);
    memcpy(reason, why->text, strlen(why->text));
    struct sim_origin origin = {topic, m->partition, m->offset, reason};
    sim_txn_send(&t->txn, SIM_DEAD, 0, m->key, m->value, &origin);
    sim_note(t->w, t->name, "dead letter: %s/%d@%lld %.*s: %s", sim_topic_names[topic],
             m->partition, (long long)m->offset, (int)m->key.length, (const char *)m->key.data,
             why->text);
    return 0;
}

/* The labels that this unit took, in the order in which it did; what was read beyond stays. */
static void labels_of_unit(struct sim_trainer *t, struct sim_about *about)
{
    const struct sim_label *last = t->n_labels ? &t->labels[t->n_labels - 1] : NULL;
    bool waits =
        last && t->label_waits && last->m.offset >= about->next[SIM_LABELS][last->partition];
    about->n_labels = t->n_labels - waits;
    about->labels = sim_grow(t->w, t->labels, t->n_labels * sizeof *t->labels,
                             (t->n_labels + 1) * sizeof *t->labels);
    if (waits)
        t->labels[0] = *last;
    t->n_labels = waits;
}

static uint32_t made_of(const struct sim_trainer *t, enum session_topic topic, int32_t n)
{
    enum session_reader r = topic == SESSION_CONTROL ? SESSION_READ_COMMANDS : SESSION_READ_INPUT;
    if (topic == SESSION_LEDGER)
        return t->w->broker->logs[SIM_LEDGER][0].made; /* a number, and no place of it */
    return t->readers[r].p[(topic - readers[r].first) * SIM_PARTITIONS + (uint32_t)n].made;
}

int sim_trainer_commit(void *ctx, const struct session_place *places, uint32_t n,
                       struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    struct sim_about *about = sim_alloc(t->w, sizeof *about);
    if (sim_faults_refuse(t->w))
        return fis_fail(e, FIS_ABORT_TXN, "the broker refused the commit");
    about->process = t->process;
    about->wall_ms = sim_wall(t->w, t->process);
    about->began = t->began;
    about->commands = t->commands;
    memcpy(about->from, t->from, sizeof about->from);
    memcpy(about->gone, t->gone, sizeof about->gone);
    memcpy(about->first, t->first, sizeof about->first);
    memcpy(about->cut, t->cut, sizeof about->cut);
    memset(t->cut, 0, sizeof t->cut);
    for (uint32_t i = 0; i < n; i++) {
        enum sim_topic topic = sim_topics[places[i].topic];
        sim_txn_consumed(&t->txn, SIM_TRAINERS, topic, places[i].partition, places[i].next,
                         made_of(t, places[i].topic, places[i].partition));
        if (topic == SIM_LEDGER)
            continue;
        t->from[topic][places[i].partition] = places[i].next;
    }
    memcpy(about->next, t->from, sizeof about->next);
    labels_of_unit(t, about);
    t->committing = true;
    t->unit_open = false;
    sim_txn_commit(&t->txn, about);
    return 0;
}

int sim_trainer_committed_state(void *ctx, uint64_t *number, struct fis_error *e)
{
    const struct sim_trainer *t = ctx;
    int64_t kept = sim_group_committed(t->w->broker, SIM_TRAINERS, SIM_LEDGER, 0);
    (void)e;
    *number = kept < 0 ? 0 : (uint64_t)kept;
    return sim_broker_is_up(t->w);
}
