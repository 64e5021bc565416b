/* A leader's turn: input to the role, jobs, and units of commit. */
#include <string.h>

#include "check.h"
#include "faults.h"
#include "trainer_impl.h"
#include "wire/chunk.h"
#include "wire/json_codec.h"
#include "wire/model.h"
#include "wire/protobuf_codec.h"

static void fail(struct sim_trainer *t, const struct fis_error *e)
{
    election_failed(&t->leader, e, false, sim_mono(t->w, t->process));
}

static bool gone(const struct sim_trainer *t)
{
    return !t->running;
}

/* ---- input --------------------------------------------------------------------------------- */

static int take_offer(struct sim_trainer *t, const struct wire_message *m, struct fis_error *e)
{
    struct wire_offer offer;
    enum wire_decoded got = wire_offer_decode(m, &t->arena, &offer, e);
    if (got == WIRE_TOMBSTONE)
        return 0;
    if (got == WIRE_BAD)
        return -FIS_INPUT;
    return trainer_role_offers(t->role, &offer, e);
}

static int take_label(struct sim_trainer *t, const struct wire_message *m, struct trainer_time now,
                      struct fis_error *e)
{
    const struct wire_schema *schema = &t->w->data->schema;
    struct wire_label label;
    enum wire_decoded got = t->w->plan->labels_encoding == WIRE_JSON
                                ? wire_json_label(schema, m, &t->arena, &label, e)
                                : wire_protobuf_label(schema, m, &t->arena, &label, e);
    if (got == WIRE_TOMBSTONE)
        return fis_refuse(e, FIS_CODE_NO_VALUE, "no value: a label is never taken back by a null");
    if (got == WIRE_BAD)
        return -FIS_INPUT;
    return trainer_role_label(t->role, &label, now, e);
}

/* The version, as it stands on its topic. *model is all-zero when it does not. */
static void fetch_version(struct sim_trainer *t, uint64_t version, struct wire_model_owned *model)
{
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_EACH, 8, 0);
    struct sim_entry m;
    struct fis_error e;
    int64_t at = sim_log_start(t->w->broker, SIM_MODELS, 0);
    struct wire_bytes payload;
    uint64_t found;
    while (sim_fetch(t->w->broker, SIM_MODELS, 0, &at, &m) > 0)
        if (wire_assembler_feed(a, m.value, &payload, &found, &e) > 0 && found == version) {
            wire_model_done(model);
            if (wire_model_decode(payload, model, &e) < 0)
                sim_violated(t->w, "version %llu cannot be read: %s", (unsigned long long)version,
                             e.text);
        }
    wire_assembler_free(a);
}

static int take_control(struct sim_trainer *t, const struct wire_message *m,
                        struct trainer_time now, struct fis_error *e)
{
    struct wire_control control;
    struct wire_model_owned model = {0};
    if (wire_control_decode(m, &t->arena, &control, e) != WIRE_OK)
        return -FIS_INPUT;
    uint64_t wanted = trainer_role_wanted_version(t->role, &control);
    if (wanted)
        fetch_version(t, wanted, &model);
    int rc =
        trainer_role_control(t->role, &control, model.model.version ? &model.model : NULL, now, e);
    wire_model_done(&model);
    return rc;
}

static int take(struct sim_trainer *t, enum sim_topic topic, const struct wire_message *m,
                struct trainer_time now, struct fis_error *e)
{
    fis_arena_reset(&t->arena);
    return topic == SIM_CANDIDATES ? take_offer(t, m, e)
           : topic == SIM_LABELS   ? take_label(t, m, now, e)
                                   : take_control(t, m, now, e);
}

static void refuse(struct sim_trainer *t, enum sim_topic topic, const struct wire_message *m,
                   const struct fis_error *why)
{
    struct sim_origin origin = {topic, m->partition, m->offset, NULL};
    size_t n = strlen(why->text);
    char *reason = sim_alloc(t->w, n + 1);
    memcpy(reason, why->text, n);
    origin.reason = reason;
    sim_txn_send(&t->txn, SIM_DEAD, 0, m->key, m->value, &origin);
    t->dirty = true;
    sim_note(t->w, t->name, "dead letter: %s/%d@%lld %.*s: %s", sim_topic_names[topic],
             m->partition, (long long)m->offset, (int)m->key.length, (const char *)m->key.data,
             why->text);
}

/* Retention was faster than this trainer: it goes on with the first message that there is. */
static void offsets_lost(struct sim_trainer *t, enum sim_topic topic, int32_t partition,
                         struct trainer_time now)
{
    int64_t *at = &t->position[topic][partition];
    int64_t first = sim_log_start(t->w->broker, topic, partition);
    sim_note(t->w, t->name, "%s/%d: %lld messages are gone unread", sim_topic_names[topic],
             partition, (long long)(first - *at));
    SIM_MUST(t->w, first > *at, "simulator: %s/%d@%lld", sim_topic_names[topic], partition,
             (long long)*at);
    if (topic == SIM_LABELS)
        trainer_role_labels_lost(t->role, (uint64_t)(first - *at), now);
    if (t->gone[topic][partition] < t->from[topic][partition]) /* else a second time in this unit */
        t->gone[topic][partition] = *at;
    *at = t->first[topic][partition] = first;
}

/* False: the role must act before it has more. */
static bool take_some(struct sim_trainer *t, enum sim_topic topic, int32_t partition,
                      struct trainer_time now)
{
    uint32_t most = sim_below(t->w, SIM_RNG_NET, 40);
    int64_t *at = &t->position[topic][partition];
    struct sim_entry m;
    struct fis_error e;
    for (; *at >= 0 && most > 0; most--) {
        if (trainer_role_due(t->role))
            return false;
        int rc = sim_fetch(t->w->broker, topic, partition, at, &m);
        if (rc < 0)
            offsets_lost(t, topic, partition, now);
        if (rc <= 0)
            return true;
        struct wire_message msg = sim_message(topic, partition, &m);
        rc = take(t, topic, &msg, now, &e);
        if (rc == -FIS_INPUT)
            refuse(t, topic, &msg, &e);
        else if (rc < 0)
            fail(t, &e);
        if (gone(t))
            return false;
    }
    return true;
}

static void read_input(struct sim_trainer *t, struct trainer_time now)
{
    static const enum sim_topic topics[] = {SIM_CANDIDATES, SIM_LABELS, SIM_CONTROL};
    uint32_t from = sim_below(t->w, SIM_RNG_NET, 3);
    for (uint32_t k = 0; k < 3 && sim_broker_is_up(t->w); k++)
        for (int32_t p = 0; p < SIM_PARTITIONS; p++)
            if (!take_some(t, topics[(from + k) % 3], p, now))
                return;
}

static void answer_pool(struct sim_trainer *t, struct trainer_time now)
{
    struct wire_pool_end ends[SIM_PARTITIONS];
    struct fis_error e;
    uint32_t n = t->w->broker->partitions[SIM_RECORDS];
    if (!t->wants_pool || !sim_broker_is_up(t->w))
        return;
    t->wants_pool = false;
    for (uint32_t p = 0; p < n; p++)
        ends[p] = (struct wire_pool_end){(int32_t)p,
                                         sim_stable_end(t->w->broker, SIM_RECORDS, (int32_t)p)};
    if (trainer_role_pool(t->role, ends, n, now, &e) < 0)
        fail(t, &e);
}

int sim_trainer_validate(struct sim_trainer *t, struct fis_error *e)
{
    const struct sim_validation *v = &t->w->data->validation[t->w->data->current];
    struct fis_rows rows = {v->n, t->w->plan->d, v->x, v->y, v->group};
    t->validation = t->w->data->current;
    return trainer_role_validation(t->role, &rows, 2, e);
}

static void follow_validation(struct sim_trainer *t)
{
    struct fis_error e;
    if (t->validation != t->w->data->current && sim_trainer_validate(t, &e) < 0)
        fail(t, &e);
}

/* ---- units --------------------------------------------------------------------------------- */

static bool consumed(const struct sim_trainer *t)
{
    return memcmp(t->from, t->position, sizeof t->from) != 0;
}

static void send_offsets(struct sim_trainer *t)
{
    for (int topic = 0; topic < SIM_TOPICS; topic++)
        for (int32_t p = 0; p < SIM_PARTITIONS; p++)
            if (t->position[topic][p] != t->from[topic][p])
                sim_txn_consumed(&t->txn, SIM_TRAINERS, (enum sim_topic)topic, p,
                                 t->position[topic][p]);
}

static void commit(struct sim_trainer *t)
{
    struct sim_about *about = sim_alloc(t->w, sizeof *about);
    struct fis_error e;
    if (sim_faults_refuse(t->w)) {
        fis_fail(&e, FIS_ABORT_TXN, "the broker refused the commit");
        fail(t, &e);
        return;
    }
    about->process = t->process;
    about->wall_ms = sim_wall(t->w, t->process);
    about->began = t->began;
    memcpy(about->from, t->from, sizeof about->from);
    memcpy(about->next, t->position, sizeof about->next);
    memcpy(about->gone, t->gone, sizeof about->gone);
    memcpy(about->first, t->first, sizeof about->first);
    send_offsets(t);
    memcpy(t->from, t->position, sizeof t->from);
    t->committing = true;
    t->unit_open = false;
    t->dirty = false;
    sim_txn_commit(&t->txn, about);
}

static void maybe_commit(struct sim_trainer *t, struct trainer_time now)
{
    struct fis_error e;
    bool draining = t->leader.state == ELECTION_DRAIN;
    if (t->committing || (t->w->now < t->commit_at && !draining))
        return;
    t->commit_at = t->w->now + t->w->plan->commit_ms;
    if (trainer_role_flush(t->role, now, &e) < 0 || trainer_wire_failed(&t->wire, &e)) {
        fail(t, &e);
        return;
    }
    if (t->dirty || consumed(t))
        commit(t);
    else if (draining && !trainer_role_busy(t->role))
        election_committed(&t->leader, sim_mono(t->w, t->process));
}

static void finish_job(struct sim_trainer *t, struct trainer_time now)
{
    struct fis_error e;
    t->job_ran = false;
    if (trainer_role_job_done(t->role, now, &e) < 0)
        fail(t, &e);
}

void sim_trainer_work(struct sim_trainer *t, struct trainer_time now)
{
    if (t->committing)
        return; /* while a unit is being committed nothing may be sent */
    t->began = t->unit_open ? t->began : t->w->now;
    t->unit_open = true;
    if (t->job_ran)
        finish_job(t, now);
    if (gone(t))
        return;
    bool free = !trainer_role_busy(t->role) && t->leader.state == ELECTION_LEAD;
    if (free) {
        follow_validation(t);
        if (!gone(t))
            answer_pool(t, now);
        if (!gone(t))
            read_input(t, now);
        if (!gone(t))
            trainer_role_idle(t->role, now);
    }
    if (!gone(t))
        maybe_commit(t, now);
}

bool sim_trainer_at_rest(const struct sim_trainer *t)
{
    if (t->committing || t->dirty || trainer_role_busy(t->role) || consumed(t))
        return false;
    for (int topic = 0; topic < SIM_TOPICS; topic++)
        for (int32_t p = 0; p < SIM_PARTITIONS; p++)
            if (t->position[topic][p] >= 0 &&
                t->position[topic][p] < sim_stable_end(t->w->broker, (enum sim_topic)topic, p))
                return false;
    return true;
}
