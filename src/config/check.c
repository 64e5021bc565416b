/*
 * What options ask of each other, and the values that follow from others.
 */
#include "config/load.h"
#include "base/category.h"
#include "fis/defaults.h"
#include "fis/mem.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is needed ------------------------------------------------------------------------- */

static void need(struct load *l, const char *key)
{
    if (load_given(l, key))
        return;
    struct spot at = load_spot(l, key, -1);
    load_refuse(l, &at, "nothing");
}

static void need_source(struct load *l, const char *source, const char *file, int given)
{
    struct spot at = load_spot(l, file, -1);
    if (given == CONFIG_FILE && !at.node)
        load_refuse(l, &at, "nothing");
    if (given == CONFIG_TOPIC && at.node) {
        char allowed[64];
        snprintf(allowed, sizeof allowed, "none with %s: topic", source);
        load_problem(l, &at, "a file", allowed);
    }
}

void load_required(struct load *l)
{
    for (const struct option *o = config_options; o->key; o++)
        if (o->need == NEED_ALWAYS)
            need(l, o->key);
    struct spot at = load_spot(l, "columns", -1);
    if (!at.node && !load_given(l, "dimension") && l->cfg->model.type == CONFIG_MLP &&
        !load_given(l, "model.image"))
        load_problem(l, &at, "nothing",
                     "columns, a list of {name, type}, dimension, a number, or model.image");
    if (!(l->cfg->roles & CONFIG_TRAINER))
        return;
    need_source(l, "initial.source", "initial.file", l->cfg->initial.source);
    need_source(l, "validation.source", "validation.file", l->cfg->validation.source);
    need(l, "validation.sensitive");
}

/* ---- what follows from other options -------------------------------------------------------- */

static char *keep(struct load *l, char *text)
{
    if (!text)
        l->no_memory = true;
    return text;
}

/* "<prefix>.label-requests" for the key "topics.label_requests". */
static void name_topic(struct load *l, const struct option *o)
{
    char **field = (char **)(void *)((char *)l->cfg + o->offset), name[512];
    if (*field)
        return;
    const char *prefix = l->cfg->topics.prefix ? l->cfg->topics.prefix : l->cfg->pipeline;
    if (!strcmp(o->key, "topics.prefix"))
        snprintf(name, sizeof name, "%s", prefix);
    else
        snprintf(name, sizeof name, "%s%s", prefix, strchr(o->otherwise, '.'));
    *field = keep(l, fis_strdup(name));
}

static bool is_topic(const struct option *o)
{
    return !strncmp(o->key, "topics.", 7) && o->kind == KIND_STRING;
}

static void fill_columns(struct load *l)
{
    struct config *c = l->cfg;
    const uint32_t *side = c->model.image.items;
    if (c->model.image.count)
        c->dimension = side[0] * side[1] * side[2];
    if (!c->dimension)
        return;
    c->columns.items = fis_calloc(c->dimension, sizeof *c->columns.items);
    if (!keep(l, (char *)(void *)c->columns.items))
        return;
    for (uint32_t i = 0; i < c->dimension && !l->no_memory; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", (unsigned)i);
        c->columns.items[i].name = keep(l, fis_strdup(name));
        c->columns.count++;
    }
}

/* Behind the features; check_base has a word when there are too few or too many. */
static void add_base(struct load *l)
{
    struct config *c = l->cfg;
    struct config_names one = {1, &c->base.name};
    const struct config_names *names = c->base.name ? &one : &c->base.names;
    uint32_t n = c->columns.count;
    if (c->base.type != CONFIG_BASE_COLUMN || !names->count || l->no_memory)
        return;
    l->no_memory =
        !fis_grow(&c->columns.items, n, (size_t)n + names->count, sizeof *c->columns.items);
    for (uint32_t i = 0; i < names->count && !l->no_memory; i++)
        c->columns.items[c->columns.count++] = (struct config_column){
            .name = keep(l, fis_strdup(names->items[i])),
            .type = CONFIG_NUMERIC,
            .scale = c->base.scale ? CONFIG_SCALE_PROBABILITY : CONFIG_SCALE_LOGIT};
}

static void settle_numbers(struct load *l)
{
    static const int publication[] = {
        [CONFIG_FIS_PLUS] = CONFIG_LINE, [CONFIG_FIS] = CONFIG_MIXED,
        [CONFIG_EKG] = CONFIG_LINE,      [CONFIG_PRODUCT] = CONFIG_LINE,
        [CONFIG_RANDOM] = CONFIG_PLAIN,  [CONFIG_ENTROPY] = CONFIG_PLAIN};
    struct config *c = l->cfg;
    if (!load_given(l, "model.base.type") && FIS_DEFAULT_TREES_BELOW_COLUMNS &&
        !load_given(l, "dimension") && c->model.type == CONFIG_MLP &&
        c->selection.algorithm != CONFIG_FIS)
        c->base.type = CONFIG_BASE_TREES;
    const bool based = c->base.type != CONFIG_BASE_NONE;
    if (!load_given(l, "training.warm_up_epochs"))
        c->training.warm_up_epochs =
            based ? FIS_DEFAULT_WARM_UP_EPOCHS_OVER_BASE : FIS_DEFAULT_WARM_UP_EPOCHS;
    if (!load_given(l, "training.steps_per_round"))
        c->training.steps_per_round =
            based ? FIS_DEFAULT_STEPS_OVER_BASE : FIS_DEFAULT_STEPS_PER_ROUND;
    if (!load_given(l, "training.publication"))
        c->training.publication = publication[c->selection.algorithm];
    if (!load_given(l, "training.optimizer"))
        c->training.optimizer = c->model.type == CONFIG_VIT ? CONFIG_ADAMW : CONFIG_SGD;
    if (!load_given(l, "training.learning_rate") && c->training.optimizer == CONFIG_ADAMW)
        c->training.learning_rate = FIS_DEFAULT_ADAMW_RATE;
    if (!load_given(l, "training.weight_decay") && c->training.optimizer == CONFIG_ADAMW)
        c->training.weight_decay = FIS_DEFAULT_ADAMW_DECAY;
    if (!c->selection.in_flight)
        c->selection.in_flight = c->selection.labels_per_round;
    if (!c->selection.heap)
        c->selection.heap = 2 * c->selection.labels_per_round;
    if (!load_given(l, "gate.warn_cell") && c->gate.warn_cell < c->gate.min_cell)
        c->gate.warn_cell = c->gate.min_cell;
}

static void settle(struct load *l)
{
    struct config *c = l->cfg;
    for (const struct option *o = config_options; o->key; o++)
        if (is_topic(o))
            name_topic(l, o);
    fill_columns(l);
    add_base(l);
    if (!c->positive)
        c->positive = keep(l, fis_strdup(c->classes.items[c->classes.count - 1]));
    settle_numbers(l);
}

/* ---- what must agree ------------------------------------------------------------------------ */

static bool same(const char *a, const char *b)
{
    return category_same(a, strlen(a), b, strlen(b));
}

/* "1" and "1.0" are one category, and cannot be two classes. */
static void check_classes(struct load *l)
{
    const struct config_names *n = &l->cfg->classes;
    for (uint32_t i = 1; i < n->count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (same(n->items[i], n->items[k]) && strcmp(n->items[i], n->items[k])) {
                struct spot at = load_spot(l, "classes", (int)i);
                char found[FOUND_MAX];
                snprintf(found, sizeof found, "'%.30s' beside '%.30s'", n->items[i], n->items[k]);
                load_problem(l, &at, found, "classes that differ as categories");
            }
}

/* "sex=F": of a sensitive column. */
static void check_groups(struct load *l)
{
    const struct config_validation *v = &l->cfg->validation;
    for (uint32_t i = 0; i < v->groups.count; i++) {
        bool known = false;
        for (uint32_t k = 0; k < v->sensitive.count; k++) {
            size_t n = strlen(v->sensitive.items[k]);
            known |= !strncmp(v->groups.items[i], v->sensitive.items[k], n) &&
                     v->groups.items[i][n] == '=' && v->groups.items[i][n + 1];
        }
        struct spot at = load_spot(l, "validation.groups", (int)i);
        char found[FOUND_MAX];
        load_describe(&at, found, sizeof found);
        if (!known)
            load_problem(l, &at, found, "column=value, of a column of validation.sensitive");
    }
}

static void check_positive(struct load *l)
{
    struct config *c = l->cfg;
    check_classes(l);
    check_groups(l);
    for (uint32_t i = 0; i < c->classes.count; i++)
        if (same(c->classes.items[i], c->positive)) {
            c->positive_class = i;
            return;
        }
    struct spot at = load_spot(l, "positive", -1);
    char found[FOUND_MAX];
    load_describe(&at, found, sizeof found);
    load_problem(l, &at, found, "one of classes");
}

static void check_encoding(struct load *l)
{
    const struct config *c = l->cfg;
    if (c->records.encoding == CONFIG_JSON || c->records.encoding == CONFIG_REGISTRY)
        return;
    if (c->records.encoding == CONFIG_RAW && c->records.framing == CONFIG_FRAMING_CONFLUENT) {
        struct spot at = load_spot(l, "records.framing", -1);
        load_problem(l, &at, "confluent", "auto or none with records.encoding: raw");
    }
    for (uint32_t i = 0; i < c->columns.count; i++)
        if (c->columns.items[i].type == CONFIG_CATEGORICAL) {
            struct spot at = load_spot(l, "columns", (int)i);
            char allowed[80];
            snprintf(allowed, sizeof allowed, "numeric columns only with records.encoding: %s",
                     config_choice("records.encoding", c->records.encoding));
            load_problem(l, &at, "a categorical column", allowed);
            return;
        }
}

/* One topic for two things would feed a role with its own words. */
static void check_topics(struct load *l)
{
    for (const struct option *a = config_options; a->key; a++) {
        if (!is_topic(a) || !strcmp(a->key, "topics.prefix"))
            continue;
        for (const struct option *b = config_options; b < a; b++) {
            if (!is_topic(b) || !strcmp(b->key, "topics.prefix"))
                continue;
            const char *one = *(char **)(void *)((char *)l->cfg + a->offset);
            const char *two = *(char **)(void *)((char *)l->cfg + b->offset);
            if (strcmp(one, two) != 0)
                continue;
            struct spot at = load_spot(l, load_given(l, a->key) ? a->key : b->key, -1);
            char found[80];
            snprintf(found, sizeof found, "the name of %s",
                     load_given(l, a->key) ? b->key : a->key);
            load_problem(l, &at, found, "a topic of its own");
        }
    }
}

static void check_more_records(struct load *l)
{
    const struct config_names *more = &l->cfg->topics.more_records;
    for (uint32_t i = 0; i < more->count; i++)
        for (const struct option *o = config_options; o->key; o++) {
            if (!is_topic(o) || !strcmp(o->key, "topics.prefix") ||
                strcmp(*(char **)(void *)((char *)l->cfg + o->offset), more->items[i]) != 0)
                continue;
            struct spot at = load_spot(l, "topics.records", (int)i + 1);
            char found[80];
            snprintf(found, sizeof found, "the name of %s", o->key);
            load_problem(l, &at, found, "a topic of its own");
        }
}

static void check_numbers(struct load *l)
{
    const struct config *c = l->cfg;
    struct spot at;
    if (c->selection.strategy != 1 && c->selection.algorithm != CONFIG_FIS) {
        at = load_spot(l, "selection.strategy", -1);
        load_problem(l, &at, "2", "1, but with selection.algorithm: fis");
    }
    if (c->selection.heap < c->selection.labels_per_round) {
        at = load_spot(l, "selection.heap", -1);
        load_problem(l, &at, "fewer than labels_per_round", "as many, or 0 for twice as many");
    }
    if (c->selection.budget && c->selection.daily_budget > c->selection.budget) {
        at = load_spot(l, "selection.daily_budget", -1);
        load_problem(l, &at, "more than selection.budget", "as many or fewer");
    }
    if (c->gate.warn_cell < c->gate.min_cell) {
        at = load_spot(l, "gate.warn_cell", -1);
        load_problem(l, &at, "fewer than gate.min_cell", "as many or more");
    }
}

static void refuse_window(struct load *l, const char *key, bool usual)
{
    if (usual)
        return;
    struct spot at = load_spot(l, key, -1);
    load_problem(l, &at, "a window", "none with selection.mode: pool");
}

/* A scan of the pool ends when every partition has been read, and nothing else ends it. What is the
 * default may stand in the file: --print-config writes every key. */
static void check_mode(struct load *l)
{
    const struct config_selection *s = &l->cfg->selection;
    const struct option *records = config_find_option("selection.window_records");
    const struct option *time = config_find_option("selection.window_time");
    uint32_t n;
    uint64_t ms;
    if (s->mode != CONFIG_POOL)
        return;
    refuse_window(l, records->key,
                  config_parse(records, records->standard, &n) == 0 && s->window_records == n);
    refuse_window(l, time->key,
                  !s->window_time ||
                      (config_parse(time, time->standard, &ms) == 0 && s->window_time == ms));
}

static bool is_port(const char *text)
{
    return *text && strlen(text) <= 5 && strspn(text, "0123456789") == strlen(text) &&
           strtoul(text, NULL, 10) <= 65535;
}

/* As src/http takes it. */
static bool is_address(const char *text)
{
    char host[64];
    struct in_addr v4;
    struct in6_addr v6;
    const char *port = strrchr(text, ':');
    size_t n = port ? (size_t)(port - text) : 0;
    if (!n || n >= sizeof host || !is_port(port + 1))
        return false;
    memcpy(host, text, n);
    host[n] = 0;
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = 0;
        return inet_pton(AF_INET6, host + 1, &v6) == 1;
    }
    return !strcmp(host, "localhost") || inet_pton(AF_INET, host, &v4) == 1;
}

static void check_http(struct load *l)
{
    const struct config_http *h = &l->cfg->http;
    struct spot at;
    if (strcmp(h->listen, "auto") && strcmp(h->listen, "off") && !is_address(h->listen)) {
        at = load_spot(l, "http.listen", -1);
        char found[FOUND_MAX];
        load_describe(&at, found, sizeof found);
        load_problem(l, &at, found,
                     "auto, off, or an IP address or localhost, and a port to 65535: "
                     "127.0.0.1:9464, [::1]:9464");
    }
    if (h->url && !load_is_http(h->url)) {
        at = load_spot(l, "http.url", -1);
        char found[FOUND_MAX];
        load_describe(&at, found, sizeof found);
        load_problem(l, &at, found, "an address that begins with http:// or https://");
    }
    load_check_pair(l, "http.tls_cert", h->tls_cert, "http.tls_key", h->tls_key);
    if (h->protect == CONFIG_PROTECT_ALL && !h->token_file) {
        at = load_spot(l, "http.protect", -1);
        load_problem(l, &at, "all, and no http.token_file", "commands, or a token to protect by");
    }
}

static void check_webhook(struct load *l)
{
    const struct config_webhook *h = &l->cfg->webhook;
    struct spot at;
    if (h->url && !load_is_http(h->url)) {
        at = load_spot(l, "webhook.url", -1);
        load_problem(l, &at, "another scheme", "http:// or https://");
    }
    if (h->secret && !h->url) {
        at = load_spot(l, "webhook.secret", -1);
        load_problem(l, &at, "no webhook.url", "both of them, or neither");
    }
}

/* Two ways to say what a record is made of. */
static bool says_twice(struct load *l)
{
    static const char *const ways[] = {"columns", "dimension", "model.image"};
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++)
            if (load_given(l, ways[i]) && load_given(l, ways[j])) {
                char found[64];
                struct spot at = load_spot(l, ways[j], -1);
                snprintf(found, sizeof found, "%s besides", ways[i]);
                load_problem(l, &at, found, "one of the two");
                return true;
            }
    return false;
}

static void divides(struct load *l, const char *key, uint32_t part, uint32_t whole, const char *of)
{
    if (part && whole % part == 0)
        return;
    char found[32], allowed[64];
    struct spot at = load_spot(l, key, -1);
    snprintf(found, sizeof found, "%u", part);
    snprintf(allowed, sizeof allowed, "a divisor of %s, %u", of, whole);
    load_problem(l, &at, found, allowed);
}

/* Before anything is made of the sizes. False: they make no sense. */
static bool check_model(struct load *l)
{
    const struct config_network *m = &l->cfg->model;
    struct spot at = load_spot(l, "model.image", -1);
    if ((m->type == CONFIG_VIT) != (m->image.count != 0)) {
        load_problem(l, &at, m->image.count ? "an image" : "nothing",
                     m->image.count ? "none with model.type: mlp"
                                    : "[height, width, channels] with model.type: vit");
        return false;
    }
    if (m->type == CONFIG_MLP)
        return true;
    const uint32_t *side = m->image.items;
    if ((uint64_t)side[0] * side[1] * side[2] > 65536) {
        load_problem(l, &at, "more than 65536 numbers", "an image of at most 65536");
        return false;
    }
    divides(l, "model.patch", m->patch, side[0], "the image's height");
    divides(l, "model.patch", m->patch, side[1], "the image's width");
    divides(l, "model.heads", m->heads, m->width, "model.width");
    if (side[2] > 4)
        load_problem(l, &at, "more than 4 channels", "1 to 4 channels");
    if (l->cfg->base.type != CONFIG_BASE_NONE) {
        at = load_spot(l, "model.base.type", -1);
        load_problem(l, &at, "a base", "none with model.type: vit");
    }
    return true;
}

void load_check(struct load *l)
{
    if (says_twice(l) || !check_model(l))
        return;
    settle(l);
    if (l->no_memory)
        return;
    check_positive(l);
    load_check_registry(l);
    check_encoding(l);
    load_check_columns(l);
    check_topics(l);
    check_more_records(l);
    check_numbers(l);
    check_mode(l);
    check_http(l);
    load_check_labels(l);
    check_webhook(l);
}
