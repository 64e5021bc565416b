/* The lab's binding of the trainer's session: queues in memory. There is no other trainer and no
 * memory to restore from; candidates are the messages of the scorer, labels the withheld ones. */
#include <string.h>

#include "fis/mem.h"
#include "lab/engine_impl.h"
#include "wire/protobuf_codec.h"

/* ---- candidates ----------------------------------------------------------------------------- */

void lab_engine_offer(struct lab_engine *g, const struct wire_offer *offer)
{
    struct byte_buffer *b = &g->offers;
    const size_t at = b->length;
    size_t bytes = 0;
    struct fis_error e;
    int rc = byte_buffer_append(b, &bytes, sizeof bytes, &e);
    if (rc == 0)
        rc = wire_offer_encode(offer, b, &e);
    lab_engine_note_failure(g, rc, &e);
    if (rc < 0)
        return;
    bytes = b->length - at - sizeof bytes;
    memcpy(b->data + at, &bytes, sizeof bytes);
}

static void read_offer(struct lab_engine *g, struct session_input *in)
{
    size_t bytes;
    const unsigned char *at = g->offers.data + g->offers_read;
    memcpy(&bytes, at, sizeof bytes);
    g->offers_read += sizeof bytes + bytes;
    *in = (struct session_input){.event = SESSION_MESSAGE,
                                 .topic = SESSION_CANDIDATES,
                                 .message = {.topic = "candidates",
                                             .offset = g->offers_offset++,
                                             .timestamp_ms = -1,
                                             .value = {at + sizeof bytes, bytes}}};
}

/* ---- requests and labels -------------------------------------------------------------------- */

/* Ids are places in the pool, in decimal. */
static uint32_t place_of(struct wire_bytes id)
{
    const char *digits = id.data;
    uint32_t place = 0;
    for (size_t i = 0; i < id.length; i++)
        place = 10 * place + (uint32_t)(digits[i] - '0');
    return place;
}

/* With `delay` a round's answers come evenly, over twice so many rounds. */
static uint64_t answer_time(const struct lab_engine *g)
{
    const uint32_t r = g->r->o->protocol.labels_per_round;
    return g->now.mono_ms + 2 * LAB_ENGINE_ROUND_MS * g->r->o->delay * (g->n_answers % r + 1) / r;
}

static void put_request(struct lab_engine *g, struct wire_bytes key)
{
    const struct lab_answer a = {.place = place_of(key), .at_ms = answer_time(g)};
    uint32_t at = g->n_answers++;
    for (; at > g->answered && g->answers[at - 1].at_ms > a.at_ms; at--)
        g->answers[at] = g->answers[at - 1];
    g->answers[at] = a;
    g->moved = true;
}

static int read_label(struct lab_engine *g, struct session_input *in, struct fis_error *e)
{
    const struct lab_split *s = g->r->split;
    const uint32_t place = g->answers[g->answered].place, row = s->pool[place];
    const struct wire_bytes key = {g->ids[place], strlen(g->ids[place])};
    struct wire_label l = {
        .status = WIRE_LABELLED, .class_index = s->task->y[row], .annotator = ""};
    g->label.length = 0;
    int rc = fis_id_set(&l.id, key.data, key.length);
    if (rc < 0)
        return fis_fail(e, FIS_FATAL, "run: record %u has no id", place);
    if ((rc = wire_protobuf_label_encode(&g->schema, &l, &g->label, e)) < 0)
        return rc;
    *in = (struct session_input){.event = SESSION_MESSAGE,
                                 .topic = SESSION_LABELS,
                                 .message = {.topic = "labels",
                                             .offset = g->answered++,
                                             .timestamp_ms = -1,
                                             .key = key,
                                             .value = {g->label.data, g->label.length}}};
    g->r->answering = row;
    return 1;
}

/* ---- ports: election ------------------------------------------------------------------------ */

static int join(void *ctx, struct fis_error *e)
{
    struct lab_engine *g = ctx;
    (void)e;
    session_seat(g->session, true, false, g->now);
    return 0;
}

static int fence(void *ctx, struct fis_error *e)
{
    struct lab_engine *g = ctx;
    (void)e;
    session_fenced_others(g->session, g->now);
    return 0;
}

/* Nothing here can make it begin again. */
static void leave(void *ctx)
{
    struct lab_engine *g = ctx;
    struct fis_error e;
    lab_engine_note_failure(g, fis_fail(&e, FIS_FATAL, "run: the trainer lost its place"), &e);
}

static void stopped(void *ctx, const struct fis_error *failed)
{
    struct lab_engine *g = ctx;
    if (failed)
        lab_engine_note_failure(g, -(int)failed->kind, failed);
}

/* ---- ports: reading ------------------------------------------------------------------------- */

static int open_reader(void *ctx, enum session_reader r, struct fis_error *e)
{
    struct lab_engine *g = ctx;
    (void)e;
    g->end_due[r] = true;
    return 0;
}

static void close_reader(void *ctx, enum session_reader r)
{
    (void)ctx;
    (void)r;
}

static void to_end(void *ctx, enum session_reader r)
{
    struct lab_engine *g = ctx;
    g->end_due[r] = true;
}

static int read_input(struct lab_engine *g, struct session_input *in, struct fis_error *e)
{
    int rc = 0;
    if (g->offers_read < g->offers.length) {
        read_offer(g, in);
        rc = 1;
    } else if (g->answered < g->n_answers && g->answers[g->answered].at_ms <= g->now.mono_ms) {
        rc = read_label(g, in, e);
    }
    g->moved |= rc > 0;
    return rc;
}

static int read_next(void *ctx, enum session_reader r, struct session_input *in,
                     struct fis_error *e)
{
    static const enum session_topic topics[SESSION_READERS] = {
        [SESSION_READ_MEMORY] = SESSION_LEDGER,
        [SESSION_READ_COMMANDS] = SESSION_CONTROL,
        [SESSION_READ_INPUT] = SESSION_CANDIDATES,
        [SESSION_READ_VERSIONS] = SESSION_MODELS,
    };
    struct lab_engine *g = ctx;
    int rc = r == SESSION_READ_INPUT ? read_input(g, in, e) : 0;
    if (rc != 0 || !g->end_due[r])
        return rc;
    g->end_due[r] = false;
    *in = (struct session_input){.event = SESSION_END, .topic = topics[r]};
    return 1;
}

/* ---- ports: rows ---------------------------------------------------------------------------- */

/* Features go through as they are: the split has encoded them. */
static struct fis_encoder *plain_encoder(struct lab_engine *g, struct fis_error *e)
{
    const uint32_t d = g->r->split->d - g->r->split->margins;
    struct fis_value *zeros = fis_calloc(d, sizeof *zeros);
    struct fis_encoder *encoder = zeros ? fis_encoder_new(g->columns, d, 1, e) : NULL;
    if (!zeros)
        fis_fail(e, FIS_NOMEM, "run: no memory for %u columns", d);
    for (uint32_t i = 0; zeros && i < d; i++)
        zeros[i].kind = FIS_VALUE_NUMBER;
    if (encoder &&
        (fis_encoder_expect_trees(encoder, g->r->split->margins, e) < 0 ||
         fis_encoder_observe(encoder, zeros, e) < 0 || fis_encoder_finish(encoder, e) < 0)) {
        fis_encoder_free(encoder);
        encoder = NULL;
    }
    fis_free(zeros);
    return encoder;
}

static int initial(void *ctx, struct fis_encoder **encoder, struct session_rows *out,
                   struct fis_error *e)
{
    struct lab_engine *g = ctx;
    const struct lab_split *s = g->r->split;
    for (uint32_t i = 0; i < s->n_initial; i++) {
        const uint32_t row = s->initial[i];
        lab_split_copy(s, row, g->initial_x + (size_t)i * s->d);
        g->initial_y[i] = s->task->y[row];
    }
    *out = (struct session_rows){{s->n_initial, s->d, g->initial_x, g->initial_y, NULL}, 0};
    *encoder = plain_encoder(g, e);
    return *encoder ? 1 : -(int)e->kind;
}

static int validation(void *ctx, const struct fis_encoder *encoder, struct session_rows *out,
                      struct fis_error *e)
{
    struct lab_engine *g = ctx;
    const struct lab_split *s = g->r->split;
    (void)encoder;
    (void)e;
    if (g->validated)
        return 0;
    g->validated = true;
    *out = (struct session_rows){
        {g->n_validation, s->d, s->validation_x, s->validation_y, s->validation_group},
        s->task->n_groups};
    return 1;
}

/* ---- ports: sending ------------------------------------------------------------------------- */

static int send_message(void *ctx, enum session_topic t, struct wire_bytes key,
                        struct wire_bytes value, struct fis_error *e)
{
    struct lab_engine *g = ctx;
    const struct wire_message m = {.topic = "ledger", .key = key, .value = value};
    if (t == SESSION_REQUESTS)
        put_request(g, key);
    if (t == SESSION_HEADS)
        return lab_engine_head(g, value, e);
    if (t == SESSION_LEDGER && !g->r->o->one_pass)
        return scorer_ledger(g->scorer, &m, e);
    return 0;
}

/* All messages are the lab's own: one that is refused ends the run. */
static int dead_letter(void *ctx, const struct wire_message *m, const struct fis_error *why,
                       struct fis_error *e)
{
    (void)ctx;
    (void)m;
    *e = *why;
    return -(int)why->kind;
}

static int commit(void *ctx, const struct session_place *places, uint32_t n, struct fis_error *e)
{
    struct lab_engine *g = ctx;
    (void)places;
    (void)n;
    (void)e;
    session_committed(g->session);
    return 0;
}

/* ---- ports: work and observers -------------------------------------------------------------- */

static void job(void *ctx, enum trainer_job kind)
{
    struct lab_engine *g = ctx;
    (void)kind;
    g->job_due = true;
}

/* Without rounds no scan is begun. */
static void ends(void *ctx)
{
    struct lab_engine *g = ctx;
    const struct wire_pool_end end = {.end = g->end};
    if (!g->rounds)
        return;
    g->ends_asked = true;
    session_ends(g->session, &end, 1);
}

static void model(void *ctx, const struct wire_model *v)
{
    struct lab_engine *g = ctx;
    struct fis_error e;
    const struct lab_hooks *hooks = g->r->hooks;
    if (hooks && hooks->version)
        lab_engine_note_failure(g, hooks->version(hooks->arg, g->r, v, &e), &e);
}

static void ready(void *ctx, struct trainer_role *role)
{
    struct lab_engine *g = ctx;
    g->r->parts = trainer_role_parts(role);
}

/* ---- life ----------------------------------------------------------------------------------- */

static int make_session(struct lab_engine *g, const struct session_options *o, struct fis_error *e)
{
    const struct session_ports p = {
        .ctx = g,
        .join = join,
        .fence = fence,
        .leave = leave,
        .stopped = stopped,
        .open = open_reader,
        .close = close_reader,
        .read = read_next,
        .to_end = to_end,
        .initial = initial,
        .validation = validation,
        .send = send_message,
        .dead_letter = dead_letter,
        .commit = commit,
        .job = job,
        .ends = o->role.pool ? ends : NULL,
        .sent_model = model,
        .ready = ready,
    };
    g->session = session_new(o, &p, e);
    return g->session ? 0 : -(int)e->kind;
}

static int make_queues(struct lab_engine *g, struct fis_error *e)
{
    const struct lab_split *s = g->r->split;
    g->answers = fis_alloc(s->n_pool, sizeof *g->answers);
    g->initial_x = fis_alloc((size_t)s->n_initial * s->d, sizeof *g->initial_x);
    g->initial_y = fis_alloc(s->n_initial, sizeof *g->initial_y);
    if (!g->answers || !g->initial_x || !g->initial_y)
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u records", s->n_pool);
    return 0;
}

int lab_engine_session(struct lab_engine *g, const struct trainer_role_options *role,
                       struct fis_error *e)
{
    struct session_options o = {
        .topics = {"ledger", "heads", "models", "candidates", "labels", "control", "validation",
                   "requests"},
        .schema = &g->schema,
        .columns = g->columns,
        .n_columns = g->r->split->d - g->r->split->margins,
        .labels = WIRE_PROTOBUF,
        .role = *role,
    };
    o.role.schema = &g->schema;
    o.role.pool = !g->r->o->one_pass;
    o.role.window_records = g->window;
    o.role.round_deadline_ms = g->r->o->delay ? LAB_ENGINE_ROUND_MS : 0;
    g->n_validation = role->validation_rows;
    int rc = make_queues(g, e);
    if (rc == 0)
        rc = make_session(g, &o, e);
    if (rc < 0)
        return rc;
    session_turn(g->session, g->now);
    if (g->failed.kind == FIS_OK)
        return 0;
    *e = g->failed;
    return -(int)e->kind;
}

void lab_engine_session_done(struct lab_engine *g)
{
    session_free(g->session);
    byte_buffer_done(&g->offers);
    byte_buffer_done(&g->label);
    fis_free(g->answers);
    fis_free(g->initial_x);
    fis_free(g->initial_y);
}
