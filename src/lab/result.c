#include "lab/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/json_text.h"

static const char *const shorts[] = {[0] = "any",
                                     [FIS_DEMOGRAPHIC_PARITY] = "dp",
                                     [FIS_EQUAL_OPPORTUNITY] = "eop",
                                     [FIS_EQUALIZED_ODDS] = "eod",
                                     [FIS_RISK_DISPARITY] = "risk"};
enum { SHORTS = sizeof shorts / sizeof *shorts };

const char *lab_metric_short(enum fis_metric m)
{
    return (unsigned)m < SHORTS ? shorts[m] : "unknown";
}

int lab_metric_find(const char *name, enum fis_metric *out, struct fis_error *e)
{
    for (int m = FIS_DEMOGRAPHIC_PARITY; m < SHORTS; m++)
        if (strcmp(name, shorts[m]) == 0 ||
            strcmp(name, fis_metric_name((enum fis_metric)m)) == 0) {
            *out = (enum fis_metric)m;
            return 0;
        }
    return fis_fail(e, FIS_INPUT, "metric: found '%s', allowed are dp, eop, eod, risk", name);
}

bool lab_key_equal(const struct lab_key *a, const struct lab_key *b)
{
    return a->metric == b->metric && a->options == b->options && a->regime == b->regime &&
           a->seed == b->seed && strcmp(a->task, b->task) == 0 &&
           strcmp(a->method, b->method) == 0 && strcmp(a->variant, b->variant) == 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

static json_t *figures(const struct fis_metrics *f)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "accuracy", wire_json_real(f->accuracy),
        "balanced_accuracy", wire_json_real(f->balanced_accuracy), "dp",
        wire_json_real(f->demographic_parity), "eop", wire_json_real(f->equal_opportunity), "eod",
        wire_json_real(f->equalized_odds), "eod_max", wire_json_real(f->equalized_odds_max), "risk",
        wire_json_real(f->risk_disparity), "predicted_classes", (json_int_t)f->predicted_classes);
}

static json_t *path(const struct lab_result *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < r->n_path; i++) {
        const struct lab_point *p = &r->path[i];
        json_array_append_new(
            list, json_pack("[I, o, o, o, o]", (json_int_t)p->labels, wire_json_real(p->accuracy),
                            wire_json_real(p->violation), wire_json_real(p->anchor_accuracy),
                            wire_json_real(p->anchor_violation)));
    }
    return list;
}

static json_t *counts(const struct lab_result *r)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "n_validation",
                     (json_int_t)r->n_validation, "n_test", (json_int_t)r->n_test, "bought",
                     (json_int_t)r->bought, "kept", (json_int_t)r->kept, "kept_at_once",
                     (json_int_t)r->kept_at_once, "kept_right", (json_int_t)r->kept_right,
                     "rounds_rejected", (json_int_t)r->rounds_rejected);
}

int lab_record_write(const struct lab_record *r, struct byte_buffer *out, struct fis_error *e)
{
    const struct lab_key *k = &r->key;
    json_t *j =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "task",
                  k->task, "metric", lab_metric_short(k->metric), "method", k->method, "variant",
                  k->variant, "regime", lab_regime_name(k->regime), "seed", (json_int_t)k->seed,
                  "options", (json_int_t)k->options, "test", figures(&r->result.test), "anchor",
                  figures(&r->result.anchor), "warm_up", figures(&r->result.warm_up), "counts",
                  counts(&r->result), "interpolation", wire_json_real(r->result.interpolation),
                  "seconds", wire_json_real(r->result.seconds), "path", path(&r->result));
    int rc = wire_json_dump(j, JSON_COMPACT | JSON_REAL_PRECISION(17), out, e);
    return rc ? rc : byte_buffer_append(out, "\n", 1, e);
}

/* ---- reading -------------------------------------------------------------------------------- */

struct source {
    const json_t *object;
    const char *missing; /* the first name that is not there or of another kind */
};

static double real_at(struct source *s, const char *name)
{
    const json_t *v = json_object_get(s->object, name);
    if (json_is_null(v))
        return NAN;
    if (!json_is_number(v) && !s->missing)
        s->missing = name;
    return json_number_value(v);
}

static uint32_t count_at(struct source *s, const char *name)
{
    const json_t *v = json_object_get(s->object, name);
    json_int_t n = json_integer_value(v);
    if ((!json_is_integer(v) || n < 0 || n > UINT32_MAX) && !s->missing)
        s->missing = name;
    return (uint32_t)n;
}

static void text_at(struct source *s, const char *name, char *to, size_t size)
{
    const char *v = json_string_value(json_object_get(s->object, name));
    if ((!v || strlen(v) >= size) && !s->missing)
        s->missing = name;
    snprintf(to, size, "%s", v ? v : "");
}

static struct source inner(struct source *s, const char *name)
{
    struct source in = {json_object_get(s->object, name), NULL};
    if (!json_is_object(in.object) && !s->missing)
        s->missing = name;
    return in;
}

static void read_figures(struct source *s, const char *name, struct fis_metrics *f)
{
    struct source in = inner(s, name);
    *f = (struct fis_metrics){.accuracy = real_at(&in, "accuracy"),
                              .balanced_accuracy = real_at(&in, "balanced_accuracy"),
                              .demographic_parity = real_at(&in, "dp"),
                              .equal_opportunity = real_at(&in, "eop"),
                              .equalized_odds = real_at(&in, "eod"),
                              .equalized_odds_max = real_at(&in, "eod_max"),
                              .risk_disparity = real_at(&in, "risk"),
                              .predicted_classes = count_at(&in, "predicted_classes")};
    if (in.missing && !s->missing)
        s->missing = in.missing;
}

static void read_path(struct source *s, struct lab_result *r)
{
    const json_t *list = json_object_get(s->object, "path");
    size_t n = json_array_size(list);
    if ((!json_is_array(list) || n > LAB_ROUNDS_MAX) && !s->missing)
        s->missing = "path";
    for (size_t i = 0; i < n && !s->missing; i++) {
        double v[5];
        const json_t *point = json_array_get(list, i);
        if (json_array_size(point) != 5)
            s->missing = "path";
        for (size_t j = 0; j < 5; j++) {
            const json_t *at = json_array_get(point, j);
            v[j] = json_is_number(at) ? json_number_value(at) : NAN;
        }
        r->path[r->n_path++] =
            (struct lab_point){(uint32_t)(v[0] >= 0 ? v[0] : 0), v[1], v[2], v[3], v[4]};
    }
}

static void read_result(struct source *s, struct lab_result *r)
{
    struct source c = inner(s, "counts");
    *r = (struct lab_result){.n_validation = count_at(&c, "n_validation"),
                             .n_test = count_at(&c, "n_test"),
                             .bought = count_at(&c, "bought"),
                             .kept = count_at(&c, "kept"),
                             .kept_at_once = count_at(&c, "kept_at_once"),
                             .kept_right = count_at(&c, "kept_right"),
                             .rounds_rejected = count_at(&c, "rounds_rejected"),
                             .interpolation = real_at(s, "interpolation"),
                             .seconds = real_at(s, "seconds")};
    if (c.missing && !s->missing)
        s->missing = c.missing;
    read_figures(s, "test", &r->test);
    read_figures(s, "anchor", &r->anchor);
    read_figures(s, "warm_up", &r->warm_up);
    read_path(s, r);
}

static void read_key(struct source *s, struct lab_key *k)
{
    char metric[16], regime[16];
    const json_t *seed = json_object_get(s->object, "seed");
    text_at(s, "task", k->task, sizeof k->task);
    text_at(s, "method", k->method, sizeof k->method);
    text_at(s, "variant", k->variant, sizeof k->variant);
    text_at(s, "metric", metric, sizeof metric);
    text_at(s, "regime", regime, sizeof regime);
    k->metric = 0;
    if (strcmp(metric, shorts[0]) != 0 && lab_metric_find(metric, &k->metric, NULL) < 0 &&
        !s->missing)
        s->missing = "metric";
    if (lab_regime_find(regime, &k->regime, NULL) < 0 && !s->missing)
        s->missing = "regime";
    if ((!json_is_integer(seed) || json_integer_value(seed) < 0) && !s->missing)
        s->missing = "seed";
    k->seed = (uint64_t)json_integer_value(seed);
    k->options = (uint64_t)json_integer_value(json_object_get(s->object, "options"));
}

int lab_record_read(const char *line, size_t length, struct lab_record *out, struct fis_error *e)
{
    struct lab_record r = {0};
    json_t *j = wire_json_parse((struct wire_bytes){line, length}, e);
    if (!j)
        return -FIS_INPUT;
    struct source s = {j, NULL};
    read_key(&s, &r.key);
    read_result(&s, &r.result);
    json_decref(j);
    if (s.missing)
        return fis_fail(e, FIS_INPUT, "result: \"%s\" is missing or not what it should be",
                        s.missing);
    *out = r;
    return 0;
}
