/*
 * fisctl tap: records as they come, with their scores and whether a scorer offered them.
 *
 * A record is shown when the progress of a scorer has passed it: what it offered stands before its
 * progress, so "not offered" is known by then. Everything is read by consumers without a group.
 */
#include "cli/command_table.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/id_map.h"
#include "cli/live_head.h"
#include "cli/screen.h"
#include "config/topic_list.h"
#include "fis/mem.h"
#include "wire/protobuf_codec.h"
#include "wire/source.h"

enum { PENDING = 4096, PATIENCE_MS = 10000, ARENA = 4 << 20 };

struct options {
    uint64_t limit, wait_ms;
    bool json;
};

struct waiting {
    char *bytes; /* key and value, one behind the other; NULL: shown */
    struct wire_message m;
    uint32_t topic;
    int64_t came_ms;
};

struct tap {
    struct cli *cli;
    const struct options *o;
    struct live_head head;
    const char *topics[CONFIG_RECORDS_MAX + 1]; /* records, then candidates */
    uint32_t n_records, numbers[CONFIG_RECORDS_MAX];
    struct topic_reader reader;
    struct waiting *waiting; /* [PENDING], a ring */
    uint64_t first, next;
    struct id_map offered;
    struct fis_arena arena;
    struct byte_buffer line;
    uint64_t shown, dropped;
};

/* ---- output ------------------------------------------------------------------------------------
 */

static int json_line(struct tap *t, const struct waiting *w, const struct live_score *s,
                     int offered, struct fis_error *e)
{
    const struct live_head *h = &t->head;
    char when[32];
    struct wire_json_put p = wire_put(&t->line, e);
    wire_put_open(&p, NULL, '{');
    wire_put_bytes(&p, "id", s->id.bytes, s->id.length);
    wire_put_whole(&p, "partition", w->m.partition);
    wire_put_whole(&p, "offset", w->m.offset);
    wire_put_text(&p, "topic", t->topics[w->topic]);
    wire_put_text(&p, "at", screen_time(w->m.timestamp_ms, when));
    wire_put_count(&p, "head", s->head);
    wire_put_open(&p, "probabilities", '{');
    for (uint32_t k = 0; k < h->schema.n_classes; k++)
        wire_put_number(&p, h->schema.classes[k], (double)s->p[k], 6);
    wire_put_close(&p, '}');
    wire_put_open(&p, "scores", '{');
    for (uint32_t i = 0; i < live_head_criteria(h); i++) {
        bool candidate = s->scores[i] > FIS_NOT_A_CANDIDATE;
        wire_put_number(&p, live_head_criterion(h, i), candidate ? (double)s->scores[i] : NAN, 6);
    }
    wire_put_close(&p, '}');
    if (offered < 0)
        wire_put_text(&p, "offered", NULL);
    else
        wire_put_bool(&p, "offered", offered);
    wire_put_close(&p, '}');
    return screen_json(&p);
}

static void plain_line(const struct tap *t, const struct waiting *w, const struct live_score *s,
                       const char *offered)
{
    const struct live_head *h = &t->head;
    char id[FIS_ID_MAX + 1], when[32];
    snprintf(id, sizeof id, "%.*s", (int)s->id.length, s->id.bytes);
    screen_clean(id);
    printf("%s  %-20s  %s %.3f", screen_time(w->m.timestamp_ms, when), id,
           h->schema.classes[s->best], (double)s->p[s->best]);
    for (uint32_t i = 0; i < live_head_criteria(h); i++)
        if (s->scores[i] > FIS_NOT_A_CANDIDATE)
            printf("  %s %.4g", live_head_criterion(h, i), (double)s->scores[i]);
    printf("  %s\n", offered);
}

/* offered: 1, 0, or -1 while no scorer has passed it. */
static int show(struct tap *t, struct waiting *w, int offered, struct fis_error *e)
{
    static const char *const words[] = {"not scored yet", "-", "offered"};
    struct live_score s;
    int rc = live_head_score(&t->head, &w->m, &s, e);
    if (!rc && s.status == WIRE_BAD)
        cli_say("%s/%d@%lld: %s", t->topics[w->topic], (int)w->m.partition, (long long)w->m.offset,
                s.why.text);
    if (!rc && s.status == WIRE_OK && t->o->json)
        rc = json_line(t, w, &s, offered, e);
    else if (!rc && s.status == WIRE_OK)
        plain_line(t, w, &s, words[offered + 1]);
    fflush(stdout);
    t->shown += s.status == WIRE_OK;
    fis_free(w->bytes);
    w->bytes = NULL;
    return rc;
}

static bool enough(const struct tap *t)
{
    return t->o->limit && t->shown >= t->o->limit;
}

/* ---- input -------------------------------------------------------------------------------------
 */

static int push(struct tap *t, const struct stream_message *m, struct fis_error *e)
{
    struct waiting *w = &t->waiting[t->next % PENDING];
    if (t->next - t->first == PENDING) { /* more than anybody can read: the oldest is passed over */
        t->dropped += w->bytes != NULL;
        fis_free(w->bytes);
        t->first++;
    }
    *w = (struct waiting){.topic = m->topic, .came_ms = cli_now_ms()};
    w->bytes = fis_alloc(m->key_length + m->value_length + 1, 1);
    if (!w->bytes)
        return fis_fail(e, FIS_NOMEM, "no memory for a record");
    if (m->key_length)
        memcpy(w->bytes, m->key, m->key_length);
    if (m->value_length)
        memcpy(w->bytes + m->key_length, m->value, m->value_length);
    w->m = binding_message(m, t->topics[m->topic]);
    w->m.key.data = m->key ? w->bytes : NULL;
    w->m.value.data = m->value ? w->bytes + m->key_length : NULL;
    t->next++;
    return 0;
}

static bool is_passed(const struct tap *t, const struct waiting *w, const struct wire_progress *p)
{
    const int32_t source = wire_source(t->numbers[w->topic], w->m.partition);
    for (uint32_t i = 0; i < p->n_ranges; i++)
        if (p->ranges[i].partition == source && w->m.offset >= p->ranges[i].begin &&
            w->m.offset < p->ranges[i].next)
            return true;
    return false;
}

/* The id that its scorer gave it: of the record, or else by its place. */
static int was_offered(struct tap *t, const struct waiting *w, bool *offered, struct fis_error *e)
{
    struct live_score s;
    struct wire_message scored = w->m;
    scored.partition = wire_source(t->numbers[w->topic], w->m.partition);
    int rc = live_head_score(&t->head, &scored, &s, e);
    *offered = !rc && s.status == WIRE_OK && id_map_get(&t->offered, &s.id, NULL);
    if (*offered)
        id_map_remove(&t->offered, &s.id);
    return rc;
}

static int passed(struct tap *t, const struct wire_progress *p, struct fis_error *e)
{
    int rc = 0;
    for (uint64_t i = t->first; !rc && i < t->next && !enough(t); i++) {
        struct waiting *w = &t->waiting[i % PENDING];
        bool offered = false;
        if (!w->bytes || !is_passed(t, w, p))
            continue;
        rc = was_offered(t, w, &offered, e);
        if (!rc)
            rc = show(t, w, offered, e);
    }
    return rc;
}

static int take_offer(struct tap *t, const struct stream_message *m, struct fis_error *e)
{
    const struct wire_message w = binding_message(m, t->topics[t->n_records]);
    struct wire_offer offer;
    struct fis_error why;
    int rc = 0;
    fis_arena_reset(&t->arena);
    if (wire_offer_decode(&w, &t->arena, &offer, &why) != WIRE_OK)
        return 0;
    for (uint32_t i = 0; rc >= 0 && i < offer.n_candidates; i++)
        rc = id_map_put(&t->offered, &offer.candidates[i].id, 1, e);
    return rc < 0 || !offer.progress ? (rc < 0 ? rc : 0) : passed(t, offer.progress, e);
}

/* Those that no scorer has passed for a while. */
static int give_up_waiting(struct tap *t, struct fis_error *e)
{
    int64_t now = cli_now_ms();
    int rc = 0;
    for (; !rc && t->first < t->next && !enough(t); t->first++) {
        struct waiting *w = &t->waiting[t->first % PENDING];
        if (w->bytes && now - w->came_ms < (int64_t)t->o->wait_ms)
            break;
        if (w->bytes)
            rc = show(t, w, -1, e);
    }
    return rc;
}

static int follow(struct tap *t, struct fis_error *e)
{
    struct stream_message m;
    int rc = 0;
    while (rc >= 0 && !enough(t) && !cli_stopping(t->cli)) {
        rc = live_head_follow(&t->head, e);
        if (rc >= 0)
            rc = topic_reader_next(&t->reader, 100, &m, e);
        if (rc > 0)
            rc = m.topic < t->n_records ? push(t, &m, e) : take_offer(t, &m, e);
        if (rc >= 0)
            rc = give_up_waiting(t, e);
    }
    return rc < 0 ? rc : 0;
}

static int open_all(struct tap *t, struct fis_error *e)
{
    struct cli *c = t->cli;
    int rc = cli_open(c, e);
    if (!rc)
        rc = live_head_open(&t->head, c, e);
    if (rc)
        return rc;
    t->arena.size = ARENA + 8 * c->schema.max_bytes;
    t->arena.base = fis_alloc(1, t->arena.size);
    t->waiting = fis_calloc(PENDING, sizeof *t->waiting);
    if (!t->arena.base || !t->waiting)
        return fis_fail(e, FIS_NOMEM, "no memory for records");
    t->n_records = config_record_topics(&c->cfg, t->topics);
    config_record_numbers(&c->cfg, t->numbers);
    t->topics[t->n_records] = c->cfg.topics.candidates;
    return topic_reader_open_latest(&t->reader, c, t->topics, t->n_records + 1, e);
}

static void close_all(struct tap *t)
{
    for (uint64_t i = t->first; t->waiting && i < t->next; i++)
        fis_free(t->waiting[i % PENDING].bytes);
    topic_reader_close(&t->reader);
    live_head_close(&t->head);
    id_map_done(&t->offered);
    fis_free(t->waiting);
    fis_free(t->arena.base);
    byte_buffer_done(&t->line);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {.wait_ms = PATIENCE_MS};
    struct tap t = {.cli = c, .o = &o};
    struct fis_error e;
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    int rc = open_all(&t, &e);
    if (!rc)
        rc = follow(&t, &e);
    if (t.dropped)
        cli_say("passed over: %s", DECIMAL_COUNT(t.dropped, "record"));
    close_all(&t);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static const struct command_option options[] = {
    {"limit", 'n', CLI_COUNT, offsetof(struct options, limit), "N", "ends after N records"},
    {"json", 'j', CLI_FLAG, offsetof(struct options, json), NULL, "one JSON object a record"},
    {"wait", 'w', CLI_SECONDS, offsetof(struct options, wait_ms), "SECONDS",
     "how long to wait for a scorer before a record is shown without; default 10"},
    {.name = NULL},
};

const struct cli_command cmd_tap = {
    .name = "tap",
    .arguments = "[options]",
    .summary = "records as they arrive, with their scores and whether they were offered",
    .text =
        "Follows the topics of records from their ends, and scores each record with the newest\n"
        "head, as a scorer does: the most likely class by the network in training, its\n"
        "probability, and the score by each criterion. A record is shown once a scorer has\n"
        "scored it, so that it is known whether it was offered to the trainer. Records that\n"
        "cannot be read are reported with their reason. No column is shown, no group is joined,\n"
        "and no offset is committed.",
    .options = options,
    .run = run,
};
