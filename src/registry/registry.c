#include "registry/registry.h"

#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "registry/curl_options.h"
#include "wire/json_text.h"

enum { ANSWER_BYTES = 4 << 20, TEXTS = 64, DEPTH = 16, PATH = 1024, URL = 4096 };

struct registry {
    CURL *curl;
    struct registry_options o;
    struct curl_options curl_options;
    struct curl_slist *headers;
    struct byte_buffer answer;
    bool too_long;
    char host[256], why[CURL_ERROR_SIZE];
};

/* ---- opening --------------------------------------------------------------------------------- */

static size_t take_answer(char *bytes, size_t size, size_t n, void *arg)
{
    struct registry *r = arg;
    struct fis_error none;
    r->too_long |= r->answer.length + size * n > ANSWER_BYTES;
    if (r->too_long || byte_buffer_append(&r->answer, bytes, size * n, &none))
        return 0;
    return size * n;
}

static bool set_options(struct registry *r)
{
    const struct registry_options *o = &r->o;
    CURLcode rc = curl_options_set(r->curl, &r->curl_options);
    r->headers =
        curl_slist_append(NULL, "Accept: application/vnd.schemaregistry.v1+json, application/json");
    rc = rc ? rc : curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, r->headers);
    rc = rc ? rc : curl_easy_setopt(r->curl, CURLOPT_WRITEFUNCTION, take_answer);
    rc = rc ? rc : curl_easy_setopt(r->curl, CURLOPT_WRITEDATA, r);
    if (!rc && o->certificate)
        rc = curl_easy_setopt(r->curl, CURLOPT_SSLCERT, o->certificate);
    if (!rc && o->key)
        rc = curl_easy_setopt(r->curl, CURLOPT_SSLKEY, o->key);
    if (!rc && o->user) {
        rc = curl_easy_setopt(r->curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        rc = rc ? rc : curl_easy_setopt(r->curl, CURLOPT_USERNAME, o->user);
        rc = rc ? rc : curl_easy_setopt(r->curl, CURLOPT_PASSWORD, o->password ? o->password : "");
    }
    return rc == CURLE_OK && r->headers;
}

int registry_open(struct registry **out, const struct registry_options *o, struct fis_error *e)
{
    struct registry *r = fis_calloc(1, sizeof *r);
    if (!r)
        return fis_fail(e, FIS_NOMEM, "no memory for a schema registry");
    r->o = *o;
    r->curl_options = (struct curl_options){.url = o->url,
                                            .ca_file = o->ca_file,
                                            .timeout_ms = (long)o->timeout_ms,
                                            .stopped = o->stopped,
                                            .arg = o->arg,
                                            .why = r->why};
    int rc = 0;
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        rc = fis_fail(e, FIS_INPUT, "libcurl cannot be used");
    else if (!curl_options_host(o->url, r->host, sizeof r->host))
        rc = fis_fail(e, FIS_INPUT, "registry: found no URL, allowed https://host or http://host");
    else if (!(r->curl = curl_easy_init()) || !set_options(r))
        rc = fis_fail(e, FIS_INPUT, "libcurl refuses the options of the registry");
    if (rc)
        registry_close(r);
    else
        *out = r;
    return rc;
}

void registry_close(struct registry *r)
{
    if (!r)
        return;
    curl_easy_cleanup(r->curl);
    curl_slist_free_all(r->headers);
    byte_buffer_done(&r->answer);
    fis_free(r);
}

const char *registry_host(const struct registry *r)
{
    return r->host;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int retry(const struct registry *r, const char *what, struct fis_error *e)
{
    return fis_fail(e, FIS_RETRY, "schema registry %s: %s", r->host, what);
}

/* Performs the request; *status is its answer's. */
static int perform(struct registry *r, const char *path, long *status, struct fis_error *e)
{
    char url[URL];
    size_t base = strlen(r->o.url);
    while (base && r->o.url[base - 1] == '/')
        base--;
    int n = snprintf(url, sizeof url, "%.*s%s", (int)base, r->o.url, path);
    if (n < 0 || (size_t)n >= sizeof url)
        return fis_fail(e, FIS_INPUT, "a URL of more than %d bytes", URL - 1);
    r->answer.length = 0;
    r->too_long = false;
    r->why[0] = 0;
    CURLcode rc = curl_easy_setopt(r->curl, CURLOPT_URL, url);
    rc = rc ? rc : curl_easy_perform(r->curl);
    if (r->too_long)
        return retry(r, "an answer of more than 4 MiB", e);
    if (!rc)
        rc = curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, status);
    return rc ? retry(r, r->why[0] ? r->why : curl_easy_strerror(rc), e) : 0;
}

static json_t *parse_answer(struct registry *r, struct fis_error *e)
{
    return wire_json_parse((struct wire_bytes){r->answer.data, r->answer.length}, e);
}

/* 404xx is the registry's own word that there is nothing; a 404 alone may be any server's. */
static int refuse_status(struct registry *r, const char *path, long status, struct fis_error *e)
{
    char what[PATH + 128];
    struct fis_error none;
    json_t *answer = status == 404 ? parse_answer(r, &none) : NULL;
    json_int_t code = json_integer_value(json_object_get(answer, "error_code"));
    json_decref(answer);
    if (code / 100 == 404)
        return fis_refuse(e, FIS_CODE_UNKNOWN_SCHEMA,
                          "schema registry %s: not found (error_code %lld)", r->host,
                          (long long)code);
    const char *hint = status == 401 || status == 403 ? " (check user and password)"
                       : status / 100 == 3            ? " (redirects are not followed)"
                       : status == 404 ? " without error_code 404xx: is the URL a registry's?"
                                       : "";
    snprintf(what, sizeof what, "status %ld of %s%s", status, path, hint);
    return retry(r, what, e);
}

/* The object that answers, to be given back. */
static int get(struct registry *r, const char *path, json_t **out, struct fis_error *e)
{
    long status = 0;
    struct fis_error why;
    int rc = perform(r, path, &status, e);
    if (!rc && status != 200)
        rc = refuse_status(r, path, status, e);
    if (rc)
        return rc;
    *out = parse_answer(r, &why);
    return *out ? 0 : retry(r, why.text, e);
}

static int lacks(const struct registry *r, const char *member, struct fis_error *e)
{
    char what[64];
    snprintf(what, sizeof what, "an answer without \"%s\"", member);
    return retry(r, what, e);
}

/* ---- schemas --------------------------------------------------------------------------------- */

struct texts {
    json_t *held[TEXTS]; /* the answers, in which names and texts lie */
    struct wire_format_text items[TEXTS];
    uint32_t n;
    size_t bytes;
};

static int refuse_text(struct fis_error *e)
{
    return fis_refuse(e, FIS_CODE_UNKNOWN_SCHEMA,
                      "with all that it refers to it is more than %d schemas, %zu bytes or %d deep",
                      TEXTS, WIRE_FORMAT_BYTES, DEPTH);
}

static int collect(struct registry *r, json_t *answer, const char *name, unsigned depth,
                   struct texts *t, struct fis_error *e);

static bool has(const struct texts *t, const char *name)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (strcmp(t->items[i].name, name) == 0)
            return true;
    return false;
}

static int collect_reference(struct registry *r, const json_t *reference, unsigned depth,
                             struct texts *t, struct fis_error *e)
{
    const char *name = json_string_value(json_object_get(reference, "name"));
    const char *subject = json_string_value(json_object_get(reference, "subject"));
    json_int_t version = json_integer_value(json_object_get(reference, "version"));
    char path[PATH];
    json_t *answer = NULL;
    if (!name || !subject)
        return lacks(r, "references", e);
    if (has(t, name))
        return 0;
    char *escaped = curl_easy_escape(r->curl, subject, 0);
    int n = escaped ? snprintf(path, sizeof path, "/subjects/%s/versions/%lld", escaped,
                               (long long)version)
                    : -1;
    curl_free(escaped);
    if (n < 0 || (size_t)n >= sizeof path)
        return refuse_text(e);
    int rc = get(r, path, &answer, e);
    if (!rc)
        rc = collect(r, answer, name, depth, t, e);
    if (rc)
        fis_error_prefix(e, "reference %.80s", name);
    json_decref(answer);
    return rc;
}

/* Those it refers to, and it behind them. */
static int collect(struct registry *r, json_t *answer, const char *name, unsigned depth,
                   struct texts *t, struct fis_error *e)
{
    const json_t *text = json_object_get(answer, "schema");
    const json_t *references = json_object_get(answer, "references");
    size_t i;
    json_t *reference;
    if (!json_is_string(text))
        return lacks(r, "schema", e);
    t->bytes += json_string_length(text);
    if (depth > DEPTH || t->bytes > WIRE_FORMAT_BYTES)
        return refuse_text(e);
    json_array_foreach(references, i, reference)
    {
        int rc = collect_reference(r, reference, depth + 1, t, e);
        if (rc)
            return rc;
    }
    if (t->n == TEXTS)
        return refuse_text(e);
    t->held[t->n] = json_incref(answer);
    t->items[t->n++] =
        (struct wire_format_text){name, {json_string_value(text), json_string_length(text)}};
    return 0;
}

static int compile(const json_t *answer, const struct texts *t, struct wire_format **out,
                   struct fis_error *e)
{
    static const char *const types[] = {[WIRE_FORMAT_AVRO] = "AVRO",
                                        [WIRE_FORMAT_PROTOBUF] = "PROTOBUF",
                                        [WIRE_FORMAT_JSON] = "JSON"};
    const char *type = json_string_value(json_object_get(answer, "schemaType"));
    for (int i = 0; i < 3; i++)
        if (!strcmp(type ? type : "AVRO", types[i]))
            return wire_format_new(out, (enum wire_format_kind)i, t->items, t->n, e);
    return fis_refuse(e, FIS_CODE_UNKNOWN_SCHEMA,
                      "its type is %.40s; AVRO, PROTOBUF and JSON are supported", type);
}

int registry_fetch(struct registry *r, uint32_t id, struct wire_format **out, struct fis_error *e)
{
    struct texts *t = fis_calloc(1, sizeof *t);
    char path[64];
    json_t *answer = NULL;
    if (!t)
        return fis_fail(e, FIS_NOMEM, "no memory for a schema");
    snprintf(path, sizeof path, "/schemas/ids/%u", id);
    int rc = get(r, path, &answer, e);
    if (!rc)
        rc = collect(r, answer, "", 0, t, e);
    if (!rc)
        rc = compile(answer, t, out, e);
    for (uint32_t i = 0; i < t->n; i++)
        json_decref(t->held[i]);
    json_decref(answer);
    fis_free(t);
    if (!rc)
        return 0;
    if (e->kind == FIS_INPUT)
        e->code = FIS_CODE_UNKNOWN_SCHEMA;
    return fis_error_prefix(e, "schema id %u", id);
}

int registry_subject(struct registry *r, const char *subject, uint32_t *version, uint32_t *id,
                     struct fis_error *e)
{
    char path[PATH];
    json_t *answer = NULL;
    char *escaped = curl_easy_escape(r->curl, subject, 0);
    int n = escaped ? snprintf(path, sizeof path, "/subjects/%s/versions/latest", escaped) : -1;
    curl_free(escaped);
    if (n < 0 || (size_t)n >= sizeof path)
        return fis_fail(e, FIS_INPUT, "a subject that is too long");
    int rc = get(r, path, &answer, e);
    if (rc)
        return rc;
    *version = (uint32_t)json_integer_value(json_object_get(answer, "version"));
    *id = (uint32_t)json_integer_value(json_object_get(answer, "id"));
    json_decref(answer);
    return 0;
}
