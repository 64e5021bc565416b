#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/cmocka.h"
#include "kit/role/small_pipeline.h"
#include "kit/session/session_kit.h"

#define INITIAL 60
#define VALIDATION 300

static const char *const names[SESSION_TOPICS] = {"ledger", "heads",   "models",     "candidates",
                                                  "labels", "control", "validation", "requests"};

/* ---- topics -------------------------------------------------------------------------------- */

static void append(struct kit_topic *t, struct wire_bytes key, struct wire_bytes value)
{
    if (t->n == t->room) {
        t->room = 2 * t->room + 64;
        t->m = realloc(t->m, t->room * sizeof *t->m);
    }
    struct kit_message *m = &t->m[t->n++];
    *m = (struct kit_message){.key_length = key.length, .value_length = value.length};
    m->key = calloc(key.length + 1, 1);
    if (key.length)
        memcpy(m->key, key.data, key.length);
    if (!value.data)
        return;
    m->value = calloc(value.length + 1, 1);
    memcpy(m->value, value.data, value.length);
}

static void clear(struct kit_topic *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        free(t->m[i].key);
        free(t->m[i].value);
    }
    free(t->m);
    *t = (struct kit_topic){0};
}

static void send_to(struct kit *k, uint32_t topic, struct wire_bytes key, struct wire_bytes value)
{
    k->sent_in_commit |= k->commit_due;
    assert_true(k->unit.n < 4096);
    k->unit_topic[k->unit.n] = topic;
    append(&k->unit, key, value);
}

void kit_append_bytes(struct kit *k, uint32_t topic, struct wire_bytes key, struct wire_bytes value)
{
    append(&k->topic[topic], key, value);
}

void kit_append(struct kit *k, uint32_t topic, const char *key, const void *value, size_t length)
{
    kit_append_bytes(k, topic, (struct wire_bytes){key, strlen(key)},
                     (struct wire_bytes){value, length});
}

/* ---- ports: election ----------------------------------------------------------------------- */

static int join(void *ctx, struct fis_error *e)
{
    struct kit *k = ctx;
    (void)e;
    k->joins++;
    return 0;
}

static int fence(void *ctx, struct fis_error *e)
{
    struct kit *k = ctx;
    (void)e;
    clear(&k->unit); /* an earlier trainer's */
    k->fence_due = true;
    if (!k->hold_fence)
        session_fenced_others(k->session, k->now);
    return 0;
}

static int sweep(void *ctx, struct fis_error *e)
{
    struct kit *k = ctx;
    (void)e;
    k->sweeps++;
    if (!k->hold_sweep)
        session_swept(k->session);
    return 0;
}

static bool fenced(void *ctx)
{
    const struct kit *k = ctx;
    return k->fenced;
}

static void leave(void *ctx)
{
    struct kit *k = ctx;
    k->leaves++;
    k->leave_due = true;
    k->commit_due = false;
    memset(k->readers, 0, sizeof k->readers);
    clear(&k->unit);
    k->validated = k->fenced = false;
    if (!k->hold_leave)
        kit_left(k);
}

void kit_left(struct kit *k)
{
    assert_true(k->leave_due);
    k->leave_due = false;
    session_left(k->session, k->now);
}

static void stopped(void *ctx, const struct fis_error *failed)
{
    struct kit *k = ctx;
    k->stopped = true;
    k->failed = failed ? failed->kind : FIS_OK;
    if (failed)
        k->error = *failed;
}

/* ---- ports: reading ------------------------------------------------------------------------ */

static const struct {
    enum session_topic first;
    uint32_t n;
    bool stored;
} reads[SESSION_READERS] = {
    [SESSION_READ_MEMORY] = {SESSION_LEDGER, 3, false},
    [SESSION_READ_COMMANDS] = {SESSION_CONTROL, 1, true},
    [SESSION_READ_INPUT] = {SESSION_CANDIDATES, 2, true},
    [SESSION_READ_VERSIONS] = {SESSION_MODELS, 1, false},
};

static int open_reader(void *ctx, enum session_reader r, struct fis_error *e)
{
    struct kit *k = ctx;
    (void)e;
    assert_false(k->readers[r].open);
    k->readers[r] = (struct kit_reader){.open = true, .end_due = true};
    for (uint32_t i = 0; i < reads[r].n; i++) {
        enum session_topic t = (enum session_topic)(reads[r].first + i);
        int64_t at = reads[r].stored ? k->committed[t] : k->topic[t].start;
        k->readers[r].at[i] = at < 0 ? 0 : at;
    }
    return 0;
}

static void close_reader(void *ctx, enum session_reader r)
{
    struct kit *k = ctx;
    assert_true(k->readers[r].open);
    k->readers[r].open = false;
}

static void to_end(void *ctx, enum session_reader r)
{
    struct kit *k = ctx;
    k->readers[r].end_due = true;
}

static void message(const struct kit_topic *t, enum session_topic topic, int64_t at,
                    struct session_input *in)
{
    const struct kit_message *m = &t->m[at];
    *in = (struct session_input){.event = SESSION_MESSAGE,
                                 .topic = topic,
                                 .message = {.topic = names[topic],
                                             .offset = at,
                                             .key = {m->key, m->key_length},
                                             .value = {m->value, m->value_length}}};
}

static int read_next(void *ctx, enum session_reader r, struct session_input *in,
                     struct fis_error *e)
{
    struct kit *k = ctx;
    struct kit_reader *reader = &k->readers[r];
    (void)e;
    assert_true(reader->open);
    for (uint32_t i = 0; i < reads[r].n; i++) {
        enum session_topic topic = (enum session_topic)(reads[r].first + i);
        const struct kit_topic *t = &k->topic[topic];
        int64_t *at = &reader->at[i];
        if (*at < t->start) {
            *in = (struct session_input){.event = SESSION_RESET,
                                         .topic = topic,
                                         .expected = *at,
                                         .first = t->start,
                                         .lost = t->start - *at};
            *at = t->start;
            return 1;
        }
        if (*at < t->n) {
            message(t, topic, (*at)++, in);
            return 1;
        }
    }
    if (k->blocked && r == SESSION_READ_MEMORY) {
        k->blocked = false;
        *in = (struct session_input){.event = SESSION_BLOCKED, .topic = reads[r].first};
        return 1;
    }
    if (!reader->end_due || k->hold_end[r])
        return 0;
    reader->end_due = false;
    *in = (struct session_input){
        .event = SESSION_END, .topic = reads[r].first, .first = k->topic[reads[r].first].start};
    return 1;
}

/* ---- ports: rows --------------------------------------------------------------------------- */

static void draw_rows(uint64_t stream, uint32_t n, struct session_rows *out)
{
    static float x[2][VALIDATION * KIT_D];
    static uint32_t y[2][VALIDATION], group[2][VALIDATION];
    struct fis_rng r;
    fis_rng_seed(&r, 2, stream);
    for (uint32_t i = 0; i < n; i++)
        y[stream][i] = small_draw(&r, x[stream] + i * KIT_D, &group[stream][i]);
    *out = (struct session_rows){{n, KIT_D, x[stream], y[stream], group[stream]}, 2};
}

static int initial(void *ctx, struct fis_encoder **encoder, struct session_rows *out,
                   struct fis_error *e)
{
    (void)ctx;
    draw_rows(0, INITIAL, out);
    if (!*encoder)
        *encoder = small_encoder(e);
    return *encoder ? 1 : -FIS_NOMEM;
}

static int validation(void *ctx, const struct fis_encoder *encoder, struct session_rows *out,
                      struct fis_error *e)
{
    struct kit *k = ctx;
    (void)encoder;
    (void)e;
    if (k->validated)
        return 0;
    k->validated = true;
    draw_rows(1, k->bad_validation ? 1 : VALIDATION, out);
    return 1;
}

static void validated(void *ctx)
{
    struct kit *k = ctx;
    k->groups_seen++;
}

/* ---- ports: sending ------------------------------------------------------------------------ */

static int send_message(void *ctx, enum session_topic t, struct wire_bytes key,
                        struct wire_bytes value, struct fis_error *e)
{
    struct kit *k = ctx;
    if (k->refuse_send)
        return fis_fail(e, FIS_ABORT_TXN, "refused");
    send_to(k, t, key, value);
    return 0;
}

static int send_dead_letter(void *ctx, const struct wire_message *m, const struct fis_error *why,
                            struct fis_error *e)
{
    struct kit *k = ctx;
    (void)e;
    assert_true(why->text[0] != 0);
    send_to(k, KIT_DEAD, m->key, m->value);
    return 0;
}

static int commit(void *ctx, const struct session_place *places, uint32_t n, struct fis_error *e)
{
    struct kit *k = ctx;
    (void)e;
    assert_false(k->commit_due);
    assert_true(n <= SESSION_TOPICS);
    if (n)
        memcpy(k->places, places, n * sizeof *places);
    k->n_places = n;
    k->commit_due = true;
    if (!k->hold_commit)
        kit_committed(k);
    return 0;
}

void kit_committed(struct kit *k)
{
    assert_true(k->commit_due);
    for (uint32_t i = 0; i < k->unit.n; i++) {
        const struct kit_message *m = &k->unit.m[i];
        append(&k->topic[k->unit_topic[i]], (struct wire_bytes){m->key, m->key_length},
               (struct wire_bytes){m->value, m->value_length});
    }
    clear(&k->unit);
    for (uint32_t i = 0; i < k->n_places; i++)
        k->committed[k->places[i].topic] = k->places[i].next;
    k->commit_due = false;
    k->commits++;
    session_committed(k->session);
}

/* ---- ports: work --------------------------------------------------------------------------- */

static void job(void *ctx, enum trainer_job kind)
{
    struct kit *k = ctx;
    (void)kind;
    k->job_due = true;
    if (!k->hold_job)
        kit_job(k);
}

void kit_job(struct kit *k)
{
    assert_true(k->job_due);
    k->job_due = false;
    k->jobs++;
    session_job(k->session);
    session_job_done(k->session);
}

static void ends(void *ctx)
{
    struct kit *k = ctx;
    const struct wire_pool_end end = {0, 50};
    k->ends_asked++;
    session_ends(k->session, &end, 1);
}

static void note(void *ctx, enum log_level level, const char *event, const char *format, va_list ap)
{
    struct kit *k = ctx;
    size_t n = strlen(k->notes);
    char text[512];
    (void)level;
    vsnprintf(text, sizeof text, format, ap);
    if (n + strlen(text) + strlen(event) + 4 < sizeof k->notes)
        snprintf(k->notes + n, sizeof k->notes - n, "[%s] %s\n", event, text);
}

bool kit_noted(const struct kit *k, const char *event)
{
    char text[64];
    snprintf(text, sizeof text, "[%s]", event);
    return strstr(k->notes, text) != NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void role_options(struct trainer_role_options *o, bool pool)
{
    *o = small_options();
    o->warm_up_epochs = 5;
    o->steps_per_round = 8;
    o->rounds = 0;
    o->window_records = 50;
    o->pool = pool;
    o->selector.labels_per_round = 4;
    o->learner.batch = 16;
    o->learner.average_every = 0;
    o->gate.warn_cell = 0;
    o->gate.resamples = 20;
}

static int new_session(struct kit *k, struct fis_error *e)
{
    const struct session_ports p = {
        .ctx = k,
        .join = join,
        .fence = fence,
        .sweep = sweep,
        .fenced = fenced,
        .leave = leave,
        .stopped = stopped,
        .open = open_reader,
        .close = close_reader,
        .read = read_next,
        .to_end = to_end,
        .initial = initial,
        .validation = validation,
        .send = send_message,
        .dead_letter = send_dead_letter,
        .commit = commit,
        .job = job,
        .ends = k->o.role.pool ? ends : NULL,
        .note = note,
        .validated = validated,
    };
    k->session = session_new(&k->o, &p, e);
    return k->session ? 0 : -FIS_NOMEM;
}

int kit_try_open(struct kit *k, bool pool, struct fis_error *e)
{
    memset(k, 0, sizeof *k);
    memset(k->committed, -1, sizeof k->committed);
    k->now = (struct trainer_time){1000, 1767225600000};
    k->o = (struct session_options){.schema = &small_schema,
                                    .columns = small_columns,
                                    .n_columns = KIT_D,
                                    .labels = WIRE_JSON,
                                    .max_chunk = 500,
                                    .commit_ms = 200};
    memcpy(k->o.topics, names, sizeof names);
    role_options(&k->o.role, pool);
    return new_session(k, e);
}

void kit_open(struct kit *k, bool pool)
{
    struct fis_error e;
    if (kit_try_open(k, pool, &e) < 0)
        fail_msg("%s", e.text);
}

void kit_close(struct kit *k)
{
    session_free(k->session);
    clear(&k->unit);
    for (uint32_t t = 0; t <= KIT_DEAD; t++)
        clear(&k->topic[t]);
}

void kit_restart(struct kit *k)
{
    struct fis_error e;
    session_free(k->session);
    clear(&k->unit);
    memset(k->readers, 0, sizeof k->readers);
    k->validated = k->commit_due = k->job_due = k->leave_due = k->stopped = false;
    k->notes[0] = 0;
    if (new_session(k, &e) < 0)
        fail_msg("%s", e.text);
}

void kit_settle(struct kit *k)
{
    for (int quiet = 0, turns = 0; quiet < 8; turns++) {
        assert_true(turns < 10000);
        k->now.mono_ms += 100;
        k->now.wall_ms += 100;
        uint32_t commits = k->commits;
        bool more = session_turn(k->session, k->now);
        quiet = more || k->commits != commits ? 0 : quiet + 1;
    }
}

void kit_lead(struct kit *k)
{
    kit_settle(k);
    session_seat(k->session, true, false, k->now);
    kit_settle(k);
}
