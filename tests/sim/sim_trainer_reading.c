/* What a simulated trainer reads: where it begins, where partitions end, what was cut. */
#include <stdio.h>
#include <string.h>

#include "sim_trainer_impl.h"

/* ---- reading ------------------------------------------------------------------------------- */

enum sim_topic sim_trainer_topic_of(enum session_reader r, uint32_t i)
{
    return sim_topics[readers[r].first + i / SIM_PARTITIONS];
}

static void begin_where_committed(struct sim_trainer *t, enum sim_topic topic, int32_t n,
                                  struct partition *p)
{
    int64_t at = sim_group_committed(t->w->broker, SIM_TRAINERS, topic, n);
    p->fresh = at < 0;
    p->made = t->w->broker->groups[SIM_TRAINERS].made[topic][n];
    p->at = p->fresh ? sim_log_start(t->w->broker, topic, n) : at;
    t->from[topic][n] = at;
    t->gone[topic][n] = -1;
    t->first[topic][n] = p->fresh && p->at > 0 ? p->at : -1;
}

static void begin_partition(struct sim_trainer *t, enum session_reader r, uint32_t i)
{
    struct partition *p = &t->readers[r].p[i];
    int32_t n = (int32_t)(i % SIM_PARTITIONS);
    p->there = true;
    if (readers[r].stored)
        begin_where_committed(t, sim_trainer_topic_of(r, i), n, p);
    else
        p->at = sim_log_start(t->w->broker, sim_trainer_topic_of(r, i), n);
}

bool sim_trainer_exists(const struct sim_trainer *t, enum session_reader r, uint32_t i)
{
    return i % SIM_PARTITIONS < t->w->broker->partitions[sim_trainer_topic_of(r, i)];
}

/* A partition that was added is seen when the topic's metadata is refreshed. */
static void look_for_partitions(struct sim_trainer *t, enum session_reader r)
{
    for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++) {
        struct partition *p = &t->readers[r].p[i];
        if (p->there || !sim_trainer_exists(t, r, i) || PLANTED(partitions_fixed))
            continue;
        if (!p->seen_at)
            p->seen_at = t->w->now + sim_between(t->w, SIM_RNG_BROKER, 1, 10000);
        else if (t->w->now >= p->seen_at)
            begin_partition(t, r, i);
    }
}

int sim_trainer_open(void *ctx, enum session_reader r, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    struct reader *reader = &t->readers[r];
    (void)e;
    *reader = (struct reader){.open = true, .most = readers[r].most};
    if (sim_chance(t->w, SIM_RNG_NET, .2)) /* a slow one */
        reader->most = 6;
    for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++)
        if (sim_trainer_exists(t, r, i))
            begin_partition(t, r, i);
    if (r == SESSION_READ_COMMANDS)
        t->commands = sim_end(t->w->broker, SIM_CONTROL, 0);
    return 0;
}

void sim_trainer_close(void *ctx, enum session_reader r)
{
    struct sim_trainer *t = ctx;
    t->readers[r].open = false;
}

void sim_trainer_to_end(void *ctx, enum session_reader r)
{
    struct sim_trainer *t = ctx;
    t->readers[r].ends_known = t->readers[r].ended = false;
    for (uint32_t i = 0; i < 3 * SIM_PARTITIONS; i++)
        t->readers[r].p[i].blocked = false;
}

/* What the network brings until the next turn. */
void sim_trainer_arrive(struct sim_trainer *t)
{
    for (int r = 0; r < SESSION_READERS; r++)
        for (uint32_t i = 0; t->readers[r].open && i < readers[r].n * SIM_PARTITIONS; i++)
            t->readers[r].p[i].left = sim_below(t->w, SIM_RNG_NET, t->readers[r].most);
}

/* Messages of a transaction that is open now count too: it may be committed. */
static void find_ends(struct sim_trainer *t, enum session_reader r)
{
    const struct sim_broker *b = t->w->broker;
    for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++) {
        enum sim_topic topic = sim_trainer_topic_of(r, i);
        int32_t n = (int32_t)(i % SIM_PARTITIONS);
        if (t->readers[r].p[i].there)
            t->readers[r].p[i].end =
                PLANTED(end_stable) ? sim_stable_end(b, topic, n) : sim_end(b, topic, n);
    }
    t->readers[r].ends_known = true;
}

/* Retention was faster than this trainer, its group is new, or the log has lost its tail. */
bool sim_trainer_is_cut(const struct sim_trainer *t, enum sim_topic topic, int32_t n,
                        const struct partition *p)
{
    return sim_was_cut(t->w->broker, topic, n, p->made, p->at);
}

static void goes_on_at(struct sim_trainer *t, enum sim_topic topic, int32_t n, struct partition *p,
                       struct session_input *in)
{
    int64_t first = sim_log_start(t->w->broker, topic, n);
    bool cut = !p->fresh && sim_trainer_is_cut(t, topic, n, p);
    SIM_MUST(t->w, p->fresh || cut || first > p->at, "simulator: %s/%d@%lld",
             sim_topic_names[topic], n, (long long)p->at);
    in->event = SESSION_RESET;
    in->expected = p->fresh ? -1 : p->at;
    in->lost = p->fresh || cut ? 0 : first - p->at;
    in->first = first;
    in->recreated = cut;
    p->made = t->w->broker->logs[topic][n].made;
    t->cut[topic][n] |= cut;
    if (!p->fresh && !cut &&
        t->gone[topic][n] < t->from[topic][n]) /* else a second time in this unit */
        t->gone[topic][n] = p->at;
    p->at = first;
    if (cut)
        t->gone[topic][n] = t->first[topic][n] = -1;
    else if (first > 0)
        t->first[topic][n] = first;
    p->fresh = false;
}

static void note_label(struct sim_trainer *t, int32_t partition, const struct sim_entry *m)
{
    if (t->n_labels == t->label_room) {
        uint32_t more = t->label_room ? 2 * t->label_room : 64;
        t->labels =
            sim_grow(t->w, t->labels, t->n_labels * sizeof *t->labels, more * sizeof *t->labels);
        t->label_room = more;
    }
    t->labels[t->n_labels++] = (struct sim_label){partition, *m};
    t->label_waits = true;
}

/* True: *in is from this partition. */
static bool read_partition(struct sim_trainer *t, enum session_reader r, uint32_t i,
                           struct session_input *in)
{
    struct partition *p = &t->readers[r].p[i];
    enum sim_topic topic = sim_trainer_topic_of(r, i);
    int32_t n = (int32_t)(i % SIM_PARTITIONS);
    struct sim_entry m;
    *in = (struct session_input){.topic = TOPIC(readers[r].first + i / SIM_PARTITIONS),
                                 .partition = n};
    if (!p->there || p->left == 0)
        return false;
    p->left--;
    t->label_waits &= r != SESSION_READ_INPUT;
    /* Versions are read from the beginning each time: what is lost shows where they end earlier. */
    bool beyond = p->at > sim_end(t->w->broker, topic, n);
    bool lost = (r != SESSION_READ_VERSIONS || beyond) && sim_trainer_is_cut(t, topic, n, p);
    p->made =
        lost ? p->made : t->w->broker->logs[topic][n].made; /* it is of this log from now on */
    int rc = p->fresh || lost ? -1 : sim_fetch(t->w->broker, topic, n, &p->at, &m);
    if (rc < 0)
        goes_on_at(t, topic, n, p, in);
    else if (rc > 0)
        in->message = sim_message(topic, n, &m);
    if (rc > 0 && topic == SIM_LABELS)
        note_label(t, n, &m);
    return rc != 0;
}

static bool at_ends(const struct reader *r)
{
    for (uint32_t i = 0; i < 3 * SIM_PARTITIONS; i++)
        if (r->p[i].fresh || r->p[i].at < r->p[i].end)
            return false;
    return true;
}

/* Once for each time that END is asked for. */
static bool tell_blocked(struct sim_trainer *t, enum session_reader r, struct session_input *in)
{
    for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++) {
        struct partition *p = &t->readers[r].p[i];
        int64_t stable =
            sim_stable_end(t->w->broker, sim_trainer_topic_of(r, i), (int32_t)(i % SIM_PARTITIONS));
        if (!p->there || p->blocked || p->at < stable || p->at >= p->end)
            continue;
        *in = (struct session_input){.event = SESSION_BLOCKED,
                                     .topic = TOPIC(readers[r].first + i / SIM_PARTITIONS)};
        return p->blocked = true;
    }
    return false;
}

/* As the daemon's ports do. */
static void expect_ends(struct sim_trainer *t, const struct reader *memory)
{
    struct sim_producer_id *id = &t->w->broker->producers[SIM_TRAINER_ID];
    for (uint32_t i = 0; id->epoch == t->txn.epoch && i < 3 * SIM_PARTITIONS; i += SIM_PARTITIONS) {
        int64_t *last = &id->last[sim_trainer_topic_of(SESSION_READ_MEMORY, i)][0];
        *last = memory->p[i].at - 1 > *last ? memory->p[i].at - 1 : *last;
    }
}

int sim_trainer_read(void *ctx, enum session_reader r, struct session_input *in,
                     struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    struct reader *reader = &t->readers[r];
    uint32_t count = readers[r].n * SIM_PARTITIONS;
    (void)e;
    SIM_MUST(t->w, reader->open, "a reader is read that is not open");
    if (!sim_broker_is_up(t->w))
        return 0;
    look_for_partitions(t, r);
    if (!reader->ends_known)
        find_ends(t, r);
    uint32_t from = sim_below(t->w, SIM_RNG_NET, count);
    for (uint32_t k = 0; k < count; k++)
        if (read_partition(t, r, (from + k) % count, in))
            return 1;
    if (!reader->ended && tell_blocked(t, r, in))
        return 1;
    if (reader->ended || !at_ends(reader))
        return 0;
    reader->ended = true;
    if (r == SESSION_READ_MEMORY)
        expect_ends(t, reader);
    *in = (struct session_input){.event = SESSION_END, .topic = readers[r].first};
    in->first = sim_log_start(t->w->broker, sim_trainer_topic_of(r, 0), 0);
    return 1;
}
