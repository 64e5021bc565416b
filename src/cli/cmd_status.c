/*
 * fisctl status: what is served, what the pipeline does or waits for, and its processes, from what
 * they report of themselves on the topic fleet.
 */
#include "cli/command_table.h"

#include <math.h>
#include <string.h>

#include "cli/models.h"
#include "cli/screen.h"
#include "fis/mem.h"
#include "wire/json_text.h"
#include "wire/process.h"

struct options {
    bool json;
};

/* A process that was killed reports no end: it is not shown for longer than the topic keeps it. */
enum { KEEP_MS = 600000 };

struct process {
    struct wire_process p;
    int64_t at_ms; /* when it reported */
};

struct fleet {
    struct cli *cli;
    struct process *items; /* by name */
    uint32_t n;
    int64_t now_ms;
};

/* ---- reading --------------------------------------------------------------------------------- */

static int insert(struct fleet *f, const struct process *one, struct fis_error *e)
{
    uint32_t i = 0;
    while (i < f->n && strcmp(f->items[i].p.name, one->p.name) < 0)
        i++;
    bool there = i < f->n && strcmp(f->items[i].p.name, one->p.name) == 0;
    if (!there && !fis_more(&f->items, f->n, sizeof *f->items))
        return fis_fail(e, FIS_NOMEM, "no memory for %u processes", f->n + 1);
    if (!there)
        memmove(f->items + i + 1, f->items + i, (f->n++ - i) * sizeof *f->items);
    f->items[i] = *one;
    return 0;
}

static int take(void *arg, const struct stream_message *m, struct fis_error *e)
{
    struct fleet *f = arg;
    struct process one = {.at_ms = m->timestamp_ms};
    struct wire_message w = binding_message(m, f->cli->cfg.topics.fleet);
    struct fis_error why;
    if (wire_process_decode(&w, &one.p, &why) != WIRE_OK ||
        strcmp(one.p.pipeline, f->cli->cfg.pipeline) != 0)
        return 0;
    return insert(f, &one, e);
}

/* Of those that count: neither ended nor silent. */
static bool listed(const struct fleet *f, const struct process *one)
{
    return !one->p.stopped && f->now_ms - one->at_ms < KEEP_MS;
}

static bool silent(const struct fleet *f, const struct process *one)
{
    return f->now_ms > one->at_ms &&
           wire_process_silent(&one->p, (uint64_t)(f->now_ms - one->at_ms));
}

/* Of several, for a moment, the one that reported last. */
static const struct process *leader(const struct fleet *f)
{
    const struct process *found = NULL;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct process *one = &f->items[i];
        if (listed(f, one) && !silent(f, one) && one->p.leads &&
            (!found || one->at_ms > found->at_ms))
            found = one;
    }
    return found;
}

/* ---- showing --------------------------------------------------------------------------------- */

static const char *role_of(const struct wire_process *p)
{
    return p->scores && p->trains ? (p->leads ? "scorer, leader" : "scorer, trainer")
           : p->scores            ? "scorer"
           : p->leads             ? "leader"
                                  : "trainer";
}

static const char *state_of(const struct fleet *f, const struct process *one, char out[SCREEN_CELL])
{
    if (silent(f, one))
        snprintf(out, SCREEN_CELL, "silent for %lld s", (long long)(f->now_ms - one->at_ms) / 1000);
    else
        snprintf(out, SCREEN_CELL, "%s%.70s", one->p.ready ? "" : "not ready: ", one->p.doing);
    screen_clean(out);
    return out;
}

static int print_processes(const struct fleet *f, struct fis_error *e)
{
    static const char *const heads[] = {"process", "role",      ">records/s",
                                        ">lag",    "dashboard", "doing"};
    char text[SCREEN_CELL];
    struct screen_table t;
    screen_table_init(&t, heads, 6);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct process *one = &f->items[i];
        if (!listed(f, one))
            continue;
        screen_table_row(&t);
        snprintf(text, sizeof text, "%.90s", one->p.name);
        screen_clean(text);
        screen_table_cell(&t, 0, "%s", text);
        screen_table_cell(&t, 1, "%s", role_of(&one->p));
        if (one->p.scores)
            screen_table_cell(&t, 2, "%.0f", one->p.scorer.per_second);
        if (one->p.scores && one->p.scorer.lag >= 0)
            screen_table_cell(&t, 3, "%lld", (long long)one->p.scorer.lag);
        snprintf(text, sizeof text, "%.90s", one->p.address);
        screen_clean(text);
        screen_table_cell(&t, 4, "%s", text);
        screen_table_cell(&t, 5, "%s", state_of(f, one, text));
    }
    return screen_table_print(&t, stdout) ? fis_fail(e, FIS_NOMEM, "no memory for the table") : 0;
}

/* With the fairness that its gate judged. */
static void print_served(const struct models *m)
{
    const struct wire_model *v = models_served(m);
    char a[48], b[48], word[64], when[32];
    if (!v) {
        printf("%-12snone yet\n", "served");
        return;
    }
    enum wire_metric metric = wire_metric_named(v->metric);
    printf("%-12sversion %llu, round %u, %s, %s\n", "served", (unsigned long long)v->version,
           v->round, models_reason(v, word), screen_time(v->created_at_ms, when));
    printf("%-12saccuracy %s  %s %s\n", "",
           models_metric(&v->metrics, &v->intervals, WIRE_ACCURACY, a),
           metric < WIRE_METRICS ? wire_metric_numbers[metric].name : "",
           models_metric(&v->metrics, &v->intervals, metric, b));
    if (isfinite(v->detectable))
        printf("%-12sgaps from %.4f on, by %u validation rows%s\n", "detectable", v->detectable,
               v->metrics.n, v->undetectable ? ": they show no gap to close" : "");
}

static int print_text(const struct fleet *f, const struct models *m, struct fis_error *e)
{
    const struct process *lead = leader(f);
    char text[SCREEN_CELL];
    printf("%-12s%s on %s%s\n", "pipeline", f->cli->cfg.pipeline, f->cli->broker,
           f->cli->embedded ? " (embedded)" : "");
    print_served(m);
    printf("%-12s%s\n\n", "doing", lead ? state_of(f, lead, text) : "no trainer leads");
    return print_processes(f, e);
}

/* One object: what is served, who leads, the processes as on the topic with `silent`. */
static int print_json(const struct fleet *f, const struct models *m, struct fis_error *e)
{
    const struct wire_model *v = models_served(m);
    const struct process *lead = leader(f);
    json_t *list = json_array();
    for (uint32_t i = 0; i < f->n; i++) {
        const struct process *one = &f->items[i];
        if (!listed(f, one))
            continue;
        json_t *o = wire_process_json(&one->p);
        json_object_set_new(o, "silent", json_boolean(silent(f, one)));
        json_array_append_new(list, o);
    }
    json_t *all = json_pack("{s:s, s:o, s:o, s:o, s:o}", "pipeline", f->cli->cfg.pipeline, "served",
                            v ? json_integer((json_int_t)v->version) : json_null(), "detectable",
                            wire_json_real(v ? v->detectable : NAN), "leader",
                            lead ? json_string(lead->p.name) : json_null(), "processes", list);
    int rc = all ? json_dumpf(all, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) : -1;
    printf("\n");
    json_decref(all);
    return rc ? fis_fail(e, FIS_NOMEM, "no memory for the status") : 0;
}

static int status(struct cli *c, const struct options *o, struct fis_error *e)
{
    struct fleet f = {.cli = c};
    struct models m;
    int rc = cli_open(c, e);
    if (rc)
        return rc;
    rc = models_init(&m, e);
    if (!rc)
        rc = models_read(&m, c, e);
    if (!rc)
        rc = topic_reader_all(c, c->cfg.topics.fleet, take, &f, e);
    f.now_ms = cli_wall_ms();
    if (!rc)
        rc = (o->json ? print_json : print_text)(&f, &m, e);
    models_done(&m);
    fis_free(f.items);
    return rc;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {0};
    struct fis_error e;
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    return status(c, &o, &e) < 0 ? cli_fail(&e) : CLI_DONE;
}

static const struct command_option options[] = {
    {"json", 'j', CLI_FLAG, offsetof(struct options, json), NULL, "one JSON object"},
    {.name = NULL},
};

const struct cli_command cmd_status = {
    .name = "status",
    .arguments = "[--json]",
    .summary = "the served version, the state of the pipeline, and its processes",
    .text =
        "The served version with accuracy and fairness, the smallest gap that the validation\n"
        "rows can detect, what the leading trainer does or waits for, and each process of the\n"
        "pipeline: role, records a second, lag, the address of its dashboard, and its activity.\n"
        "Processes report every few seconds; one that was killed is silent, and is left out after\n"
        "ten minutes.",
    .options = options,
    .run = run,
};
