/* What comes to a scorer: records, heads and, in pool mode, the ledger. */
#include "daemon/scorer/scorer_host_impl.h"

#include <string.h>

#include "daemon/context/closer.h"
#include "binding/binding.h"
#include "config/schema.h"
#include "wire/head.h"
#include "wire/source.h"

#define READ_AT_ONCE 1024
#define JOIN_AGAIN_MS 5000

/* ---- heads and the ledger ------------------------------------------------------------------ */

/* Its candidates would be another pipeline's, or ranked by what others were not. */
static int check_owner(const struct scorer_host *h, const struct wire_head *head,
                       struct fis_error *e)
{
    const char *ours = h->ctx->cfg->pipeline;
    char own[SCORING_ALGORITHM];
    if (strcmp(head->pipeline, ours) != 0)
        return fis_fail(e, FIS_FATAL,
                        "%s holds heads of pipeline %s, and this is pipeline %s: give each its own "
                        "topics (topics.prefix)",
                        h->head_topics[0], head->pipeline, ours);
    scoring_algorithm(&h->scoring.criteria, h->pool, own);
    if (!head->algorithm || strcmp(head->algorithm, own) == 0)
        return 0;
    return fis_fail(e, FIS_FATAL,
                    "the trainer selects by %s, and this scorer would score by %s: give all "
                    "processes the same selection.algorithm, .strategy and .mode",
                    head->algorithm, own);
}

/* What the trainer holds decides what is worth an offer. */
static void take_selection(struct scorer_host *h, struct wire_head *head)
{
    const struct wire_selection ours = config_selection(h->ctx->cfg);
    char text[SCORING_DIFFERENCE];
    if (scoring_selection(head, &ours, text) && strcmp(text, h->difference) != 0)
        log_line(LOG_LEVEL_WARN, "other_selection",
                 "role=scorer used=\"%s\" text=\"the trainer's configuration counts; give all "
                 "processes the same\"",
                 text);
    memcpy(h->difference, text, sizeof text);
}

/* What only a trainer writes, and no trainer wrote: what was there before counts on. */
static void leave_out(struct scorer_host *h, const char *topic, const struct stream_message *m,
                      const struct fis_error *e)
{
    char key[WIRE_KEY_TEXT];
    const struct wire_bytes bytes = {m->key, m->key_length};
    h->left_out++;
    log_line(LOG_LEVEL_ERROR, "left_out",
             "role=scorer topic=%s partition=%d offset=%lld key=\"%s\" reason=\"%s\"", topic,
             (int)m->partition, (long long)m->offset, wire_key_text(bytes, key), e->text);
}

static void take_head(struct scorer_host *h, const struct stream_message *m,
                      struct wire_bytes payload)
{
    struct wire_head_owned owned;
    struct fis_error e;
    if (wire_head_decode(payload, &owned, &e) < 0) {
        leave_out(h, h->head_topics[0], m, &e);
        return;
    }
    int rc = check_owner(h, &owned.head, &e);
    if (!rc)
        take_selection(h, &owned.head); /* which fills in what an older trainer left out */
    struct scoring_head *head = rc ? NULL : scoring_head_take(&owned);
    if (!rc)
        rc = head ? scorer_head(h->machine, &owned.head, &e)
                  : fis_fail(&e, FIS_NOMEM, "no memory for a head");
    wire_head_done(&owned);
    if (rc < 0) {
        scoring_head_unref(head);
        scorer_host_failed(h, &e);
        return;
    }
    struct scoring_head *old = h->head;
    h->head = head;
    scorer_drift_head(h, old);
    scoring_head_unref(old);
    log_line(LOG_LEVEL_DEBUG, "head", "role=scorer version=%llu",
             (unsigned long long)head->version);
}

static void take_head_chunk(struct scorer_host *h, const struct stream_message *m)
{
    struct wire_bytes payload;
    uint64_t version;
    struct fis_error e;
    int rc = wire_assembler_feed(h->assembler, (struct wire_bytes){m->value, m->value_length},
                                 &payload, &version, &e);
    if (rc < 0)
        leave_out(h, h->head_topics[0], m, &e);
    else if (rc > 0)
        take_head(h, m, payload);
    else if (wire_assembler_floors(h->assembler))
        scorer_floors(h->machine, wire_assembler_floors(h->assembler));
}

static void take_ledger(struct scorer_host *h, const struct stream_message *m)
{
    struct wire_message message = binding_message(m, h->ledger_topics[0]);
    struct fis_error e;
    int rc = scorer_ledger(h->machine, &message, &e);
    if (rc == -FIS_INPUT)
        leave_out(h, h->ledger_topics[0], m, &e);
    else if (rc < 0)
        scorer_host_failed(h, &e);
}

static bool follow(struct scorer_host *h, struct stream_consumer *c,
                   void (*take)(struct scorer_host *h, const struct stream_message *m))
{
    uint32_t n = stream_consumer_read(c, h->follow_batch, SCORER_FOLLOW_BATCH);
    for (uint32_t i = 0; i < n && !h->failed; i++)
        take(h, &h->follow_batch->messages[i]);
    stream_batch_release(h->follow_batch);
    return n == SCORER_FOLLOW_BATCH;
}

/* ---- partitions ---------------------------------------------------------------------------- */

static void revoked(void *host, bool lost, const struct stream_partition *partitions, size_t count)
{
    struct scorer_host *h = host;
    log_line(LOG_LEVEL_INFO, "revoked", "role=scorer partitions=%zu lost=%d", count, lost);
    for (size_t i = 0; i < count; i++) {
        int32_t source = wire_source(h->numbers[partitions[i].topic], partitions[i].partition);
        scorer_revoked(h->machine, &source, 1);
    }
    scorer_commit_revoked(h, lost, partitions, count);
}

/* Committed before a record is read: should this process lose the partition before its first
 * commit, the next one finds an offset, and counts no record again as of a recreated topic. */
static void commit_beginning(struct scorer_host *h, const struct stream_consumer_event *ev)
{
    struct fis_error e;
    const struct stream_offset at = {h->topics[ev->topic], ev->partition, ev->first, 0};
    if (stream_consumer_commit(h->records, &at, 1, &e) < 0)
        context_trouble(h->ctx, "scorer", &e);
}

/* A group without offsets is mostly a new one, and says nothing but where it begins. */
static void take_reset(struct scorer_host *h, const struct stream_consumer_event *ev)
{
    struct fis_error e;
    bool none = ev->expected < 0;
    const char *text =
        none ? "nothing is committed for the group: it is new, its offsets expired, or the topic "
               "was recreated"
        : ev->recreated
            ? "the topic was recreated, or its log was cut; it is read from its beginning"
            : "retention deleted them before they were read; they are not scored";
    log_line(
        none && ev->first == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "reset",
        "role=scorer topic=%s partition=%d expected=%lld first_kept=%lld lost=%lld text=\"%s\"",
        h->topics[ev->topic], (int)ev->partition, (long long)ev->expected, (long long)ev->first,
        (long long)ev->lost_messages, text);
    if (scorer_reset(h->machine, wire_source(h->numbers[ev->topic], ev->partition), ev->first,
                     (uint64_t)ev->lost_messages, none || ev->recreated, &e) < 0)
        scorer_host_failed(h, &e);
    if (none)
        commit_beginning(h, ev);
}

static void lose_place(struct scorer_host *h, const struct fis_error *e)
{
    log_line(LOG_LEVEL_WARN, "lost_place",
             "role=scorer reason=\"%s\" text=\"the consumer rejoins its group; if this repeats, "
             "another process has the same group.instance.id: give each its own\"",
             e->text);
    h->lost_place = true;
}

static void take_event(struct scorer_host *h, struct stream_consumer *c,
                       const struct stream_consumer_event *ev)
{
    if (ev->kind == STREAM_ERROR && ev->error.kind == FIS_ABORT_TXN)
        lose_place(h, &ev->error);
    else if (ev->kind == STREAM_ERROR && ev->error.kind == FIS_FATAL)
        scorer_host_failed(h, &ev->error);
    else if (ev->kind == STREAM_ERROR)
        context_trouble(h->ctx, "scorer", &ev->error);
    else if (ev->kind == STREAM_BLOCKED)
        context_blocked("scorer", &ev->error);
    if (c != h->records)
        return;
    h->owned = ev->owned;
    if (ev->kind == STREAM_ASSIGNED)
        log_line(LOG_LEVEL_INFO, "assigned", "role=scorer partitions=%u", ev->owned);
    else if (ev->kind == STREAM_RESET)
        take_reset(h, ev);
    else if (ev->kind == STREAM_EOF)
        scorer_end(h->machine, wire_source(h->numbers[ev->topic], ev->partition), ev->offset);
}

static void take_events(struct scorer_host *h, struct stream_consumer *c)
{
    struct stream_consumer_event ev;
    while (stream_consumer_event(c, &ev))
        take_event(h, c, &ev);
}

/* ---- records ------------------------------------------------------------------------------- */

/* Takes over what was read since the last time. */
static void fill(struct scorer_host *h, struct scorer_slot *s)
{
    struct scoring_batch *b = &s->batch;
    for (uint32_t i = b->n; i < s->read->count; i++) {
        const struct stream_message *m = &s->read->messages[i];
        b->messages[i] = binding_message(m, h->topics[m->topic]);
        b->messages[i].partition = wire_source(h->numbers[m->topic], m->partition);
    }
    b->n = s->read->count;
}

/* Messages are given back a batch a turn: it is work for each of them. True: there are more. */
static bool give_back(struct scorer_host *h, struct scorer_slot *preferred)
{
    struct scorer_slot *s = preferred && preferred->spent ? preferred : NULL;
    bool more = false;
    for (uint32_t i = 0; i < h->n_slots; i++) {
        if (h->slots[i].spent && !s)
            s = &h->slots[i];
        more |= h->slots[i].spent && &h->slots[i] != s;
    }
    if (s) {
        stream_batch_release(s->read);
        s->spent = false;
    }
    return more;
}

/* Some of a batch. The machine is given messages before the next read, which may take their
 * partition away. True when something was there. */
static bool read_some(struct scorer_host *h, struct scorer_slot *s)
{
    uint32_t had = s->batch.n, room = h->scoring.capacity - had;
    uint32_t n =
        stream_consumer_read(h->records, s->read, room < READ_AT_ONCE ? room : READ_AT_ONCE);
    fill(h, s);
    for (uint32_t i = had; i < s->batch.n; i++)
        s->bytes += s->batch.messages[i].value.length;
    if (n > 0)
        scorer_reading(h->machine, s->index, &s->batch);
    take_events(h, h->records); /* they are about what was read so far */
    return n > 0;
}

/* A batch ends at its number of records, or when it holds its share of queue_bytes: memory has a
 * bound whatever the records' size. */
static bool is_full(const struct scorer_host *h, const struct scorer_slot *s)
{
    return s->bytes >= h->ctx->cfg->scorer.queue_bytes / h->n_slots ||
           s->batch.n == h->scoring.capacity;
}

/* When there is no more to read, what there is goes if not much is under way, and else waits for
 * that, so that the costs of a batch are paid as seldom as the records allow. */
static bool may_wait(const struct scorer_host *h)
{
    return 4 * scorer_under_way(h->machine) >= h->n_slots && !h->pool && !h->stopping;
}

static struct scorer_slot *begin_batch(struct scorer_host *h)
{
    int slot = scorer_free_slot(h->machine);
    struct scorer_slot *s = slot < 0 ? NULL : &h->slots[slot];
    bool left = give_back(h, s);
    if (s) {
        s->batch.n = 0;
        s->bytes = 0;
        s->resolved = 0;
    }
    if (left)
        context_wake(h->ctx);
    return s;
}

/* Some of one batch a turn: what else the loop has to do waits no longer. A pool's batch is read at
 * once, since none may hold records from before a scan begins and from after it. True when there
 * may be more to read at once. */
static bool read_records(struct scorer_host *h)
{
    bool more;
    if (!h->reading && !(h->reading = begin_batch(h))) {
        /* Nothing is needed now, but rebalances are served and the membership is kept. */
        stream_consumer_read(h->records, h->follow_batch, 0);
        return false;
    }
    struct scorer_slot *s = h->reading;
    do {
        more = read_some(h, s);
    } while (more && h->pool && !h->stopping && !is_full(h, s));
    if (!h->stopping && !is_full(h, s) && (more || may_wait(h)))
        return more && !h->failed;
    h->reading = NULL;
    if (s->batch.n > 0 && !h->failed)
        scorer_batch(h->machine, s->index, &s->batch);
    return more && !h->failed && scorer_free_slot(h->machine) >= 0;
}

int scorer_input_join(struct scorer_host *h, struct fis_error *e)
{
    struct stream_consumer_options records = {
        .client = context_client(h->ctx),
        .group_id = h->group,
        .topics = h->topics,
        .topic_count = h->n_topics,
        .queue_bytes = h->ctx->cfg->scorer.queue_bytes,
        .on_revoke = revoked,
        .revoke_arg = h,
        .rewind = h->pool,
        .eofs = h->pool,
    };
    records.client.name = "records";
    h->joined_ms = context_now().mono_ms;
    return stream_consumer_open(&h->records, &records, e);
}

static void end_member(void *member)
{
    stream_consumer_close(member, 1000);
}

/* A client that was fenced stays so: another one takes its place, once no message of it is held.
 * Not at once again, for two processes of one id would take it from each other all the time. */
static void join_again(struct scorer_host *h)
{
    struct fis_error e;
    if (h->reading && h->reading->batch.n > 0)
        scorer_batch(h->machine, h->reading->index, &h->reading->batch);
    h->reading = NULL;
    if (give_back(h, NULL) || !scorer_idle(h->machine) || h->stopping ||
        context_now().mono_ms < h->joined_ms + JOIN_AGAIN_MS)
        return;
    size_t n;
    const struct stream_partition *owned = stream_consumer_owned(h->records, &n);
    if (n > 0) /* it was not noticed yet that they are gone */
        revoked(h, true, owned, n);
    closer_take(h->ctx, end_member, h->records, NULL, NULL);
    h->records = NULL;
    h->owned = 0;
    h->lost_place = false;
    if (scorer_input_join(h, &e) < 0)
        scorer_host_failed(h, &e);
}

bool scorer_input_turn(struct scorer_host *h)
{
    bool more = follow(h, h->heads, take_head_chunk);
    take_events(h, h->heads);
    if (h->ledger) {
        more |= follow(h, h->ledger, take_ledger);
        take_events(h, h->ledger);
    }
    if (h->lost_place) {
        join_again(h);
        return more;
    }
    more |= read_records(h);
    take_events(h, h->records);
    return more;
}
