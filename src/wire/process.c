#include "wire/process.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/json_text.h"

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *count_or_null(uint64_t n, bool known)
{
    return known ? wire_json_count(n) : json_null();
}

/* Texts that were cut may end within a character. */
static json_t *clean(const char *s)
{
    return json_stringn(s, utf8_prefix(s, strlen(s)));
}

static json_t *scorer(const struct wire_process *p)
{
    const struct wire_process_scorer *s = &p->scorer;
    if (!p->scores)
        return json_null();
    return json_pack("{s:i, s:o, s:o, s:f, s:o, s:o}", "partitions", (int)s->partitions, "records",
                     wire_json_count(s->records), "refused", wire_json_count(s->refused),
                     "records_per_second", isfinite(s->per_second) ? s->per_second : 0.0, "lag",
                     count_or_null((uint64_t)s->lag, s->lag >= 0), "head_version",
                     wire_json_count(s->head_version));
}

static json_t *leading(const struct wire_process *p)
{
    const struct wire_process_leading *l = &p->leading;
    if (!p->leads)
        return json_null();
    return json_pack("{s:i, s:o, s:{s:o, s:o}, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "round", (int)l->round, "phase", clean(l->phase), "asking", "state",
                     clean(l->asking), "text", clean(l->asking_text), "training", l->training,
                     "paused", l->paused, "pinned", l->pinned, "served_version",
                     wire_json_count(l->served_version), "asked", wire_json_count(l->asked), "open",
                     wire_json_count(l->open), "answered", wire_json_count(l->answered), "kept",
                     wire_json_count(l->kept), "budget", count_or_null(l->budget, l->budget > 0),
                     "budget_left", count_or_null(l->budget_left, l->budget > 0));
}

json_t *wire_process_json(const struct wire_process *p)
{
    json_t *alarms = json_array();
    for (uint32_t i = 0; i < p->n_alarms; i++)
        json_array_append_new(alarms, clean(p->alarm[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:I, s:i, s:b, s:b, s:o, s:o, s:o, s:o}",
                     "name", clean(p->name), "pipeline", clean(p->pipeline), "host", clean(p->host),
                     "version", clean(p->version), "address",
                     *p->address ? clean(p->address) : json_null(), "local", p->local,
                     "started_at_ms", (json_int_t)p->started_at_ms, "interval_ms",
                     (int)p->interval_ms, "stopped", p->stopped, "ready", p->ready, "doing",
                     clean(p->doing), "alarms", alarms, "scorer", scorer(p), "trainer",
                     p->trains ? json_pack("{s:o, s:b, s:o}", "state", clean(p->state), "leads",
                                           p->leads, "leading", leading(p))
                               : json_null());
}

int wire_process_encode(const struct wire_process *p, struct byte_buffer *out, struct fis_error *e)
{
    return wire_json_dump(wire_process_json(p), JSON_COMPACT | JSON_REAL_PRECISION(6), out, e);
}

bool wire_process_silent(const struct wire_process *p, uint64_t age_ms)
{
    uint64_t interval = p->interval_ms;
    interval = interval < 1000 ? 1000 : interval > 60000 ? 60000 : interval;
    return age_ms > 4 * interval;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void text(const json_t *o, const char *key, char *out, size_t size)
{
    const char *s = json_string_value(json_object_get(o, key));
    size_t n = s ? utf8_prefix(s, strnlen(s, size - 1)) : 0;
    memcpy(out, s ? s : "", n);
    out[n] = 0;
}
#define TEXT(o, key, field) text(o, key, field, sizeof(field))

static bool is(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

static int64_t number(const json_t *o, const char *key, int64_t otherwise)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) && json_integer_value(v) >= 0 ? json_integer_value(v) : otherwise;
}

static uint32_t small(const json_t *o, const char *key)
{
    int64_t n = number(o, key, 0);
    return n > INT32_MAX ? INT32_MAX : (uint32_t)n;
}

static void read_scorer(const json_t *o, struct wire_process_scorer *s)
{
    s->partitions = small(o, "partitions");
    s->records = (uint64_t)number(o, "records", 0);
    s->refused = (uint64_t)number(o, "refused", 0);
    s->per_second = fmax(0, json_number_value(json_object_get(o, "records_per_second")));
    s->lag = number(o, "lag", -1);
    s->head_version = (uint64_t)number(o, "head_version", 0);
}

static void read_leading(const json_t *o, struct wire_process_leading *l)
{
    const json_t *asking = json_object_get(o, "asking");
    l->round = small(o, "round");
    TEXT(o, "phase", l->phase);
    TEXT(asking, "state", l->asking);
    TEXT(asking, "text", l->asking_text);
    l->training = is(o, "training");
    l->paused = is(o, "paused");
    l->pinned = is(o, "pinned");
    l->served_version = (uint64_t)number(o, "served_version", 0);
    l->asked = (uint64_t)number(o, "asked", 0);
    l->open = (uint64_t)number(o, "open", 0);
    l->answered = (uint64_t)number(o, "answered", 0);
    l->kept = (uint64_t)number(o, "kept", 0);
    l->budget = (uint64_t)number(o, "budget", 0);
    l->budget_left = (uint64_t)number(o, "budget_left", 0);
}

static void read_alarms(const json_t *list, struct wire_process *p)
{
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n && p->n_alarms < WIRE_PROCESS_ALARMS; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name && strlen(name) < sizeof p->alarm[0])
            strcpy(p->alarm[p->n_alarms++], name);
    }
}

/* A page makes a link of it. */
static void check_address(char *address)
{
    if (strncmp(address, "http://", 7) != 0 && strncmp(address, "https://", 8) != 0)
        address[0] = 0;
}

static void read_process(const json_t *o, struct wire_process *p)
{
    const json_t *scorer = json_object_get(o, "scorer"), *trainer = json_object_get(o, "trainer");
    const json_t *lead = json_object_get(trainer, "leading");
    *p = (struct wire_process){
        .local = is(o, "local"),
        .started_at_ms = number(o, "started_at_ms", 0),
        .interval_ms = small(o, "interval_ms"),
        .stopped = is(o, "stopped"),
        .ready = is(o, "ready"),
        .scores = json_is_object(scorer),
        .trains = json_is_object(trainer),
        .leads = is(trainer, "leads"),
    };
    TEXT(o, "name", p->name);
    TEXT(o, "pipeline", p->pipeline);
    TEXT(o, "host", p->host);
    TEXT(o, "version", p->version);
    TEXT(o, "address", p->address);
    TEXT(o, "doing", p->doing);
    TEXT(trainer, "state", p->state);
    check_address(p->address);
    read_alarms(json_object_get(o, "alarms"), p);
    read_scorer(scorer, &p->scorer);
    read_leading(lead, &p->leading);
}

enum wire_decoded wire_process_decode(const struct wire_message *m, struct wire_process *out,
                                      struct fis_error *e)
{
    struct wire_process p;
    if (!m->value.data)
        return WIRE_TOMBSTONE;
    json_t *o = wire_json_parse(m->value, e);
    if (!o)
        return WIRE_BAD;
    read_process(o, &p);
    json_decref(o);
    if (!*p.name || !*p.pipeline) {
        fis_refuse(e, FIS_CODE_BAD_FIELD, "the state of a process without name or pipeline");
        return WIRE_BAD;
    }
    *out = p;
    return WIRE_OK;
}
