/* The labelling page and the API behind it: docs/labelling.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "daemon/labelling/label_fields.h"
#include "daemon/labelling/label_host.h"
#include "daemon/monitor/api.h"
#include "daemon/monitor/dashboard.h"

#define DAY_MS INT64_C(86400000)
#define SINCE_MAX INT64_C(9007199254740991) /* what every JSON reader takes exactly */

/* ---- the page ---------------------------------------------------------------------------------
 */

/* The files are the dashboard's kind; pictures may come from where labels.show says. */
static const char with_images[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: http: https:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static bool is_on(const struct monitor *m, struct http_reply *out)
{
    if (!m->ctx->cfg->labels.page)
        http_problem(out, 404, "the labelling page is off here (labels.page)");
    return m->ctx->cfg->labels.page;
}

void label_page(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct monitor *m = ctx;
    const struct config_shows *show = &m->ctx->cfg->labels.show;
    if (!is_on(m, out))
        return;
    dashboard_serve(ctx, r, out);
    if (m->ctx->cfg->model.image.count)
        out->policy = with_images;
    for (uint32_t i = 0; i < show->count; i++)
        if (show->items[i].as == CONFIG_SHOW_IMAGE)
            out->policy = with_images;
}

/* ---- how far people agree ---------------------------------------------------------------------
 */

/* As the trainer counts it, or where it does not lead as the page has read it. */
json_t *api_agreement(struct monitor *m)
{
    const struct status *s = status_now(m);
    static const struct agreement none;
    struct agreement_view own;
    const struct agreement_view *a = s->trainer.agreement;
    json_t *classes = json_array(), *people = json_array();
    if (!a)
        agreement_look(m->labels ? label_queue_agreement(label_host_queue(m->labels)) : &none,
                       &own);
    a = a ? a : &own;
    for (uint32_t k = 0; k < s->cfg->classes.count; k++)
        json_array_append_new(classes, json_pack("{s:s, s:o}", "class", s->cfg->classes.items[k],
                                                 "alpha", wire_json_real(a->by_class[k])));
    for (uint32_t i = 0; i < a->n_people; i++)
        json_array_append_new(people, json_pack("{s:o, s:I, s:o, s:o}", "annotator",
                                                api_text(a->people[i].name), "answers",
                                                (json_int_t)a->people[i].answers, "share",
                                                wire_json_real(a->people[i].share), "alpha_without",
                                                wire_json_real(a->people[i].without)));
    return json_pack("{s:I, s:o, s:o, s:o}", "records", (json_int_t)a->records, "alpha",
                     wire_json_real(a->alpha), "classes", classes, "annotators", people);
}

/* ---- who asks ---------------------------------------------------------------------------------
 */

/* %XX: a header has no bytes beyond ASCII. */
static bool unescape(const char *in, char out[WIRE_ANNOTATOR + 1])
{
    size_t n = 0;
    for (; *in && n <= WIRE_ANNOTATOR; n++) {
        char hex[3] = {0}, *end = hex;
        if (*in == '%' && in[1]) {
            memcpy(hex, in + 1, 2);
            out[n] = (char)strtoul(hex, &end, 16);
        }
        if (end != hex + 2)
            out[n] = *in;
        in += end == hex + 2 ? 3 : 1;
        if ((unsigned char)out[n] < 0x20 || out[n] == 0x7f)
            return false;
    }
    out[n > WIRE_ANNOTATOR ? WIRE_ANNOTATOR : n] = 0;
    return n > 0 && n <= WIRE_ANNOTATOR && utf8_prefix(out, n) == n;
}

/* Their name; NULL: refused. A page of somebody else's cannot send either header here. */
static const char *annotator(const struct monitor *m, const struct http_request *r,
                             char room[WIRE_ANNOTATOR + 1], struct http_reply *out)
{
    const char *token = http_bearer(r), *name = http_header(r, "X-Annotator");
    if (m->annotators.n) {
        name = token ? annotators_find(&m->annotators, token) : NULL;
        if (!name)
            http_problem(out, 401,
                         token ? "nobody has this token (labels.annotators)"
                               : "this needs the header Authorization: Bearer with the token of an "
                                 "annotator");
        return name;
    }
    if (name && unescape(name, room))
        return room;
    http_problem(out, 403,
                 "this needs the header X-Annotator with the name of who labels: 1 to %d bytes of "
                 "UTF-8, percent-encoded",
                 WIRE_ANNOTATOR);
    return NULL;
}

/* ---- what there is to do ----------------------------------------------------------------------
 */

static json_t *figures(const struct agreement *a, const char *name)
{
    double own = (double)NAN;
    for (uint32_t i = 0; i < a->n_people; i++)
        if (strcmp(a->people[i].name, name) == 0)
            own = agreement_share(&a->people[i]);
    return json_pack("{s:I, s:o, s:o}", "records", (json_int_t)a->records, "alpha",
                     wire_json_real(agreement_alpha(a)), "own", wire_json_real(own));
}

static json_t *classes(const struct config *cfg)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < cfg->classes.count; i++)
        json_array_append_new(list, json_string(cfg->classes.items[i]));
    return list;
}

/* What people are asked; a column that is named "label" says nothing. */
static const char *question(const struct config *cfg)
{
    const char *column = cfg->validation.label;
    if (cfg->labels.question)
        return cfg->labels.question;
    return column && strcmp(column, "label") != 0 ? column : "Which class is it?";
}

static json_t *task(struct monitor *m, const struct label_task *t)
{
    struct wire_request_shown shown = {0};
    struct fis_error e;
    bool ok = label_host_show(m->labels, t, &shown, &e) == 0;
    json_t *fields = ok ? label_fields(m->ctx->cfg, shown.record) : json_array();
    json_t *o = json_pack("{s:o, s:i, s:s, s:i, s:i, s:I, s:o, s:f, s:o}", "id", api_id(t->id),
                          "round", (int)t->round, "criterion", ok ? shown.criterion : "", "votes",
                          (int)t->votes, "answers", (int)t->answers, "requested_at",
                          (json_int_t)t->requested_at_ms, "deadline",
                          t->deadline_ms ? json_integer((json_int_t)t->deadline_ms) : json_null(),
                          "lease_seconds", 1e-3 * (double)t->lease_ms, "fields", fields);
    wire_request_shown_done(&shown);
    return o;
}

static json_t *why(const char *state, const char *text)
{
    return json_pack("{s:s, s:o}", "state", state, "text", api_text(text));
}

/* Why there is nothing: says the trainer that leads, here or in another process. */
static json_t *reason(struct monitor *m)
{
    const struct status *s = status_now(m);
    if (s->trainer.running)
        return why(asking_name(s->trainer.asking.state), s->trainer.asking.text);
    for (uint32_t i = 0; i < s->n_fleet; i++)
        if (s->fleet[i].p.leads && !fleet_silent(&s->fleet[i], s->mono_ms))
            return why(s->fleet[i].p.leading.asking, s->fleet[i].p.leading.asking_text);
    return why("unknown", "no trainer reports");
}

struct query {
    bool idle;
    int64_t since_ms;
};

static bool read_query(const struct http_request *r, struct query *q, struct http_reply *out)
{
    const char *idle = http_query(r, "idle"), *since = http_query(r, "since");
    int64_t now_ms = context_now().wall_ms;
    q->idle = idle && strcmp(idle, "1") == 0;
    q->since_ms = since ? strtoll(since, NULL, 10) : now_ms - now_ms % DAY_MS;
    bool ok = (!idle || q->idle || strcmp(idle, "0") == 0) &&
              (!since || (*since && !since[strspn(since, "0123456789")])) &&
              q->since_ms <= SINCE_MAX;
    if (!ok)
        http_problem(out, 400, "allowed are idle, 0 or 1, and since, milliseconds since 1970");
    return ok;
}

static const char *const states[] = {[LABEL_TASK] = "task",
                                     [LABEL_LAPSED] = "lapsed",
                                     [LABEL_NONE_OPEN] = "empty",
                                     [LABEL_OTHERS_HAVE] = "others"};

static void send_next(struct monitor *m, const struct query *query, const char *name,
                      struct http_reply *out)
{
    struct label_queue *q = label_host_queue(m->labels);
    struct trainer_time now = context_now();
    struct label_progress p;
    struct label_task t;
    enum label_next what;
    struct fis_error e;
    if (label_queue_next(q, name, query->idle, now, &what, &t, &e) < 0) {
        out->no_memory = true;
        return;
    }
    json_t *shown = what == LABEL_TASK ? task(m, &t) : json_null();
    label_queue_progress(q, name, query->since_ms, now, &p);
    api_send(out, json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:{s:i, s:i, s:i, s:I}, s:o, s:f}",
                            "annotator", name, "state", states[what], "request", shown, "asking",
                            reason(m), "question", question(m->ctx->cfg), "classes",
                            classes(m->ctx->cfg), "progress", "open", (int)p.open, "mine",
                            (int)p.mine, "others", (int)p.others, "done", (json_int_t)p.done,
                            "agreement", figures(label_queue_agreement(q), name), "undo_seconds",
                            1e-3 * (double)m->ctx->cfg->labels.undo));
}

/* Whether the topics have been read; if not, 503: it is asked again. */
static bool is_ready(const struct monitor *m, struct http_reply *out)
{
    const char *why = m->ctx->stopping ? "fisd is stopping"
                      : !m->labels     ? "no broker has answered yet"
                                       : label_host_waits(m->labels);
    if (why)
        http_problem(out, 503, "%s", why);
    return !why;
}

void label_next(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct monitor *m = ctx;
    char room[WIRE_ANNOTATOR + 1];
    const char *name = is_on(m, out) ? annotator(m, r, room, out) : NULL;
    struct query q;
    if (name && read_query(r, &q, out) && is_ready(m, out))
        send_next(m, &q, name, out);
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static void send_outcome(const struct wire_label *l, enum label_outcome what, uint64_t left_ms,
                         struct http_reply *out)
{
    static const char *const names[] = {
        [LABEL_HELD] = "held", [LABEL_SENDING] = "sending", [LABEL_RECORDED] = "recorded"};
    switch (what) {
    case LABEL_UNKNOWN:
        http_problem(out, 404, "no request with this id is known here");
        return;
    case LABEL_DECIDED:
        http_problem(out, 409, "this record has its answers already, from other people");
        return;
    case LABEL_CONTRADICTS:
        http_problem(
            out, 409,
            "another answer of yours for this record was sent; a sent label cannot be withdrawn");
        return;
    case LABEL_HELD:
    case LABEL_SENDING:
    case LABEL_RECORDED:
        break;
    }
    out->status = what == LABEL_RECORDED ? 200 : 202;
    api_send(out, json_pack("{s:o, s:s, s:f}", "id", api_id(&l->id), "state", names[what],
                            "undo_seconds", 1e-3 * (double)left_ms));
}

/* One object with these members, the first of which is a text that must be there. */
static json_t *read_members(const struct http_request *r, const char *const *allowed,
                            struct http_reply *out)
{
    json_error_t error;
    const char *key;
    json_t *v,
        *o = json_loadb(r->body, r->body_length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    bool ok = json_string_length(json_object_get(o, allowed[0])) > 0;
    json_object_foreach(o, key, v)
    {
        bool known = false;
        for (const char *const *a = allowed; *a; a++)
            known |= strcmp(*a, key) == 0;
        ok = ok && known && (json_is_string(v) || (json_is_integer(v) && *key == 'c'));
    }
    if (ok)
        return o;
    http_problem(out, 400, "allowed is one JSON object with the id of the record%s",
                 allowed[1] ? ", and label, class_index or status" : "");
    json_decref(o);
    return NULL;
}

/* The id of a request that is known here; what cannot be an id is none. */
static bool read_id(const struct monitor *m, json_t *take_body, struct fis_id *id,
                    struct http_reply *out)
{
    const json_t *text = json_object_get(take_body, "id");
    bool ok = fis_id_set(id, json_string_value(text), json_string_length(text)) == 0 &&
              label_queue_knows(label_host_queue(m->labels), id);
    json_decref(take_body);
    if (!ok)
        http_problem(out, 404, "no request with this id is known here");
    return ok;
}

void label_answer(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct monitor *m = ctx;
    char room[WIRE_ANNOTATOR + 1];
    const char *name = is_on(m, out) ? annotator(m, r, room, out) : NULL;
    static const char *const members[] = {"id", "label", "class_index", "status", NULL};
    struct wire_label l;
    enum label_outcome what;
    uint64_t left_ms;
    struct fis_error e;
    json_t *body = name && is_ready(m, out) ? read_members(r, members, out) : NULL;
    if (!body || !read_id(m, body, &l.id, out))
        return;
    if (label_host_read(m->labels, r->body, r->body_length, &l, &e) < 0) {
        http_problem(out, 409, "%s", e.text); /* not what this request may be answered with */
        return;
    }
    l.annotator = name;
    if (label_queue_answer(label_host_queue(m->labels), &l, context_now(), &what, &left_ms, &e) < 0)
        out->no_memory = true;
    else
        send_outcome(&l, what, left_ms, out);
    context_wake(m->ctx); /* what is not held is sent at once */
}

void label_undo(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct monitor *m = ctx;
    char room[WIRE_ANNOTATOR + 1];
    const char *name = is_on(m, out) ? annotator(m, r, room, out) : NULL;
    static const char *const members[] = {"id", NULL};
    struct query q;
    struct fis_id id;
    enum label_outcome what;
    struct fis_error e;
    bool ok = name && read_query(r, &q, out) && is_ready(m, out);
    json_t *body = ok ? read_members(r, members, out) : NULL;
    if (!body || !read_id(m, body, &id, out))
        return;
    if (label_queue_undo(label_host_queue(m->labels), &id, name, context_now(), &what, &e) < 0)
        out->no_memory = true;
    else if (what == LABEL_UNKNOWN)
        http_problem(out, 404, "you have not answered a request with this id");
    else if (what != LABEL_HELD)
        http_problem(out, 409, "it was sent already; a sent label cannot be withdrawn");
    else
        send_next(m, &q, name, out);
}
