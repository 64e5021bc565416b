/* Commands by HTTP. */
#include <string.h>

#include "daemon/monitor/api.h"

#define DEFAULT_BY "http"
#define TEXT_MAX 100                               /* characters of who and why */
#define VERSION_MAX ((json_int_t)9007199254740991) /* what every JSON reader takes exactly */

static json_t *shown(const struct command *k)
{
    return json_pack("{s:o, s:s, s:I, s:I, s:s, s:o, s:o}", "command", api_id(&k->id), "kind",
                     wire_control_name(k->kind), "version", (json_int_t)k->version, "at_ms",
                     (json_int_t)k->at_ms, "outcome", command_outcome_name(k->outcome), "by",
                     api_text(k->by), "text", api_text(k->text));
}

json_t *api_commands(struct monitor *m)
{
    const struct command *k;
    json_t *list = json_array();
    for (uint32_t i = 0; (k = commands_at(&m->commands, i)); i++)
        json_array_append_new(list, shown(k));
    return json_pack("{s:o}", "commands", list);
}

void api_command(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct monitor *m = ctx;
    const struct command *k = commands_find(&m->commands, r->rest);
    if (k)
        api_send(out, shown(k));
    else
        http_problem(out, 404, "this process has no record of this command");
}

/* ---- the body ---------------------------------------------------------------------------------
 */

/* What a body may have. */
struct body {
    json_t *object;
    const char *by, *reason;
    const json_t *id;
    uint64_t version;
    bool has_version;
};

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static bool take_text(const json_t *v, const char *name, const char **field, struct http_reply *out)
{
    const char *text = json_string_value(v);
    if (text && *text && strlen(text) == json_string_length(v) && characters(text) <= TEXT_MAX) {
        *field = text;
        return true;
    }
    http_problem(out, 400, "%s: allowed is a text of 1 to %d characters, none of them NUL", name,
                 TEXT_MAX);
    return false;
}

static bool take_version(const json_t *v, struct body *b, struct http_reply *out)
{
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v) || n < 1 || n > VERSION_MAX) {
        http_problem(out, 400, "version: allowed is a whole number from 1 to 2^53-1");
        return false;
    }
    b->version = (uint64_t)n;
    b->has_version = true;
    return true;
}

static bool take_id(const json_t *v, struct body *b, struct http_reply *out)
{
    if (json_string_length(v)) {
        b->id = v;
        return true;
    }
    http_problem(out, 400, "id: allowed is a text of 1 to %d bytes", FIS_ID_MAX);
    return false;
}

static bool take_members(struct body *b, const char *allowed, struct http_reply *out)
{
    const char *key;
    json_t *v;
    json_object_foreach(b->object, key, v)
    {
        bool ok;
        if (strcmp(key, "by") == 0)
            ok = take_text(v, key, &b->by, out);
        else if (strcmp(key, "reason") == 0)
            ok = take_text(v, key, &b->reason, out);
        else if (strcmp(key, "id") == 0 && strcmp(allowed, "id") == 0)
            ok = take_id(v, b, out);
        else if (strcmp(key, "version") == 0 && strcmp(allowed, "version") == 0)
            ok = take_version(v, b, out);
        else {
            ok = false;
            http_problem(out, 400, "a member that is not known here; allowed: by, reason%s%s",
                         *allowed ? ", " : "", allowed);
        }
        if (!ok)
            return false;
    }
    return true;
}

/* An empty body is an empty object. */
static bool read_body(const struct http_request *r, struct body *b, const char *allowed,
                      struct http_reply *out)
{
    json_error_t error;
    *b = (struct body){.by = DEFAULT_BY, .reason = ""};
    b->object = r->body_length ? json_loadb(r->body, r->body_length,
                                            JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error)
                               : json_object();
    if (json_is_object(b->object))
        return take_members(b, allowed, out);
    http_problem(out, 400, "the body is not one JSON object");
    return false;
}

/* ---- giving one -------------------------------------------------------------------------------
 */

static void send_command(struct monitor *m, const struct wire_control *w, struct http_reply *out)
{
    struct stream_client client = context_client(m->ctx);
    const struct command *k;
    struct fis_error e;
    if (!m->ctx->started || m->ctx->stopping) {
        http_problem(out, 503,
                     m->ctx->stopping ? "fisd is stopping" : "no broker has answered yet");
        return;
    }
    if (commands_send(&m->commands, &client, m->ctx->cfg->topics.control, w, &k, &e) < 0) {
        http_problem(out, 503, "the command was not sent: %s", e.text);
        return;
    }
    log_line(LOG_LEVEL_INFO, "command", "kind=%s version=%llu id=%.*s", wire_control_name(w->kind),
             (unsigned long long)w->version, (int)k->id.length, k->id.bytes);
    out->status = 202;
    api_send(out, shown(k));
}

static bool no_id(const json_t *text, struct fis_id *id)
{
    size_t n = json_string_length(text);
    return memchr(json_string_value(text), 0, n) || fis_id_set(id, json_string_value(text), n);
}

void api_give(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api_control *c = r->route->arg;
    struct body b;
    bool ok = read_body(r, &b, c->member, out);
    struct wire_control w = {
        .kind = c->kind,
        .version = b.version,
        .by = b.by,
        .reason = b.reason,
        .at_ms = context_now().wall_ms,
    };
    if (ok && c->needed && !b.has_version && !b.id)
        http_problem(out, 400, "%s is missing", c->member);
    else if (ok && b.id && no_id(b.id, &w.record))
        http_problem(out, 404, "no record has an id of more than %d bytes, or with a NUL",
                     FIS_ID_MAX);
    else if (ok)
        send_command(ctx, &w, out);
    json_decref(b.object);
}
