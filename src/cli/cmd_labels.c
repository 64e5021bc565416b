/*
 * fisctl labels: requests and their cost; pause, resume, cancel, send again.
 */
#include "cli/command_table.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/ledger_view.h"
#include "cli/control.h"
#include "cli/last_pause.h"
#include "cli/screen.h"

#define WAIT_S 60

struct options {
    bool open, all;
    struct control_options control;
};

/* "2 d 3 h", "4 m 5 s", "6 s": two units of an age. */
static const char *age_text(uint64_t ms, char out[48])
{
    static const struct {
        const char *name;
        uint64_t seconds;
    } units[] = {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}};
    uint64_t s = ms / 1000;
    int i = 0;
    while (i < 3 && s < units[i].seconds)
        i++;
    if (i == 3)
        snprintf(out, 48, "%llu s", (unsigned long long)s);
    else
        snprintf(out, 48, "%llu %s %llu %s", (unsigned long long)(s / units[i].seconds),
                 units[i].name, (unsigned long long)(s % units[i].seconds / units[i + 1].seconds),
                 units[i + 1].name);
    return out;
}

static uint64_t age_of(const struct ledger_record *r, uint64_t clock_ms)
{
    return clock_ms > r->asked_at_ms ? clock_ms - r->asked_at_ms : 0;
}

static uint64_t oldest(const struct ledger_view *v, uint64_t clock_ms)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct ledger_record *r = &v->records[i];
        if (r->state == WIRE_REQUESTED && age_of(r, clock_ms) > most)
            most = age_of(r, clock_ms);
    }
    return most;
}

static uint64_t answered(const struct ledger_view *v)
{
    return v->count[WIRE_ACCEPTED] + v->count[WIRE_SET_ASIDE];
}

/* "37 of 500", or without a limit "37". */
static void print_budget(const char *title, uint64_t used, uint64_t limit)
{
    char a[DECIMAL_GROUPED], b[DECIMAL_GROUPED];
    printf("%-12s%s", title, decimal_grouped(used, a));
    if (limit)
        printf(" of %s", decimal_grouped(limit, b));
    else
        printf(", no limit");
    printf("\n");
}

static const char *figure(double x, char out[16])
{
    snprintf(out, 16, isfinite(x) ? "%.2f" : "n/e", x);
    return out;
}

static void print_agreement(const struct cli *c, const struct agreement_view *a)
{
    char text[16], without[16], count[64], name[256];
    if (!a->records)
        return;
    printf("%-12salpha %s, on %s with several answers (1: they agree, 0: chance)", "agreement",
           figure(a->alpha, text), decimal_counted(a->records, "record", count));
    for (uint32_t k = 0; k < c->schema.n_classes; k++)
        printf("%s%s %s", k ? ", " : "; ", c->schema.classes[k], figure(a->by_class[k], text));
    printf("\n");
    for (uint32_t i = 0; i < a->n_people; i++) {
        snprintf(name, sizeof name, "%s", a->people[i].name);
        screen_clean(name);
        printf("%-12s%s: %s, agrees with %s of the others'; alpha without %s\n", "", name,
               decimal_counted(a->people[i].answers, "answer", count),
               figure(a->people[i].share, text), figure(a->people[i].without, without));
    }
}

static void print_status(const struct cli *c, const struct ledger_view *v,
                         const struct agreement_view *agreement, const struct asking *asking)
{
    const uint64_t clock = ledger_view_clock(v, cli_wall_ms());
    const uint64_t open = v->count[WIRE_REQUESTED];
    char a[DECIMAL_GROUPED], age[48];
    printf("%-12s%s\n", "asking", asking->text);
    printf("%-12s%s", "open", decimal_grouped(open, a));
    if (open)
        printf(", the oldest for %s", age_text(oldest(v, clock), age));
    if (c->cfg.labels.deadline)
        printf("; a request expires after %s", age_text(c->cfg.labels.deadline, age));
    printf("\n%-12s%s: %llu accepted, %llu set aside, each as it came\n", "answered",
           decimal_grouped(answered(v), a), (unsigned long long)v->count[WIRE_ACCEPTED],
           (unsigned long long)v->count[WIRE_SET_ASIDE]);
    printf("%-12s%llu expired, %llu skipped, %llu cancelled, %llu tied\n", "others",
           (unsigned long long)v->count[WIRE_EXPIRED],
           (unsigned long long)v->count[WIRE_SKIPPED_BY_PERSON],
           (unsigned long long)v->count[WIRE_CANCELLED], (unsigned long long)v->count[WIRE_TIED]);
    print_budget("budget", v->charged, c->cfg.selection.budget);
    print_budget("today", ledger_view_today(v, cli_wall_ms()), c->cfg.selection.daily_budget);
    print_agreement(c, agreement);
}

static void put_agreement(struct wire_json_put *p, const struct cli *c,
                          const struct agreement_view *a)
{
    wire_put_open(p, "agreement", '{');
    wire_put_count(p, "records", a->records);
    wire_put_number(p, "alpha", a->alpha, 9);
    wire_put_open(p, "classes", '[');
    for (uint32_t k = 0; k < c->schema.n_classes; k++) {
        wire_put_open(p, NULL, '{');
        wire_put_text(p, "class", c->schema.classes[k]);
        wire_put_number(p, "alpha", a->by_class[k], 9);
        wire_put_close(p, '}');
    }
    wire_put_close(p, ']');
    wire_put_open(p, "annotators", '[');
    for (uint32_t i = 0; i < a->n_people; i++) {
        wire_put_open(p, NULL, '{');
        wire_put_text(p, "annotator", a->people[i].name);
        wire_put_count(p, "answers", a->people[i].answers);
        wire_put_number(p, "share", a->people[i].share, 9);
        wire_put_number(p, "alpha_without", a->people[i].without, 9);
        wire_put_close(p, '}');
    }
    wire_put_close(p, ']');
    wire_put_close(p, '}');
}

static void put_limit(struct wire_json_put *p, const char *name, uint64_t limit)
{
    if (limit)
        wire_put_count(p, name, limit);
    else
        wire_put_text(p, name, NULL);
}

static int print_status_json(const struct cli *c, const struct ledger_view *v,
                             const struct agreement_view *agreement, const struct asking *asking,
                             struct fis_error *e)
{
    static const char *const names[] = {NULL,      "in_heap", "open",      "accepted", "set_aside",
                                        "expired", "skipped", "cancelled", "tied"};
    static const char *const phases[] = {"unknown", "collect", "label", "done"};
    const enum wire_phase phase = v->state.phase;
    struct byte_buffer line = {0};
    struct wire_json_put p = wire_put(&line, e);
    wire_put_open(&p, NULL, '{');
    wire_put_bool(&p, "paused", v->state.paused);
    wire_put_count(&p, "round", v->state.round);
    wire_put_text(&p, "phase", phases[phase <= WIRE_PHASE_DONE ? phase : 0]);
    wire_put_text(&p, "asking", asking_name(asking->state));
    for (int i = WIRE_IN_HEAP; i <= WIRE_TIED; i++)
        wire_put_count(&p, names[i], v->count[i]);
    if (v->count[WIRE_REQUESTED])
        wire_put_count(&p, "oldest_ms", oldest(v, ledger_view_clock(v, cli_wall_ms())));
    wire_put_count(&p, "charged", v->charged);
    put_limit(&p, "budget", c->cfg.selection.budget);
    wire_put_count(&p, "today", ledger_view_today(v, cli_wall_ms()));
    put_limit(&p, "daily_budget", c->cfg.selection.daily_budget);
    put_agreement(&p, c, agreement);
    wire_put_close(&p, '}');
    int rc = screen_json(&p);
    byte_buffer_done(&line);
    return rc;
}

struct listing {
    const struct cli *c;
    const struct ledger_view *v;
    struct screen_table table;
    bool json;
    uint64_t clock_ms;
    struct byte_buffer line;
    struct fis_error *e;
};

static int list_json(struct listing *l, const struct fis_id *id, const struct ledger_record *r)
{
    struct wire_json_put p = wire_put(&l->line, l->e);
    wire_put_open(&p, NULL, '{');
    wire_put_bytes(&p, "id", id->bytes, id->length);
    wire_put_count(&p, "round", r->round);
    wire_put_count(&p, "age_ms", age_of(r, l->clock_ms));
    wire_put_count(&p, "votes", r->votes);
    wire_put_close(&p, '}');
    return screen_json(&p);
}

static int list_one(void *arg, const struct fis_id *id, uint32_t place)
{
    struct listing *l = arg;
    const struct ledger_record *r = &l->v->records[place];
    char text[FIS_ID_MAX + 1], age[48];
    if (r->state != WIRE_REQUESTED)
        return 0;
    if (l->json)
        return list_json(l, id, r);
    snprintf(text, sizeof text, "%.*s", (int)id->length, id->bytes);
    screen_clean(text);
    screen_table_row(&l->table);
    screen_table_cell(&l->table, 0, "%s", text);
    screen_table_cell(&l->table, 1, "%u", r->round);
    screen_table_cell(&l->table, 2, "%s", age_text(age_of(r, l->clock_ms), age));
    screen_table_cell(&l->table, 3, "%u of %u", r->votes, r->required);
    return 0;
}

static int print_open(const struct cli *c, const struct ledger_view *v, bool json,
                      struct fis_error *e)
{
    static const char *const heads[] = {"record", ">round", ">age", ">votes"};
    struct listing l = {
        .c = c, .v = v, .json = json, .e = e, .clock_ms = ledger_view_clock(v, cli_wall_ms())};
    if (!json)
        screen_table_init(&l.table, heads, 4);
    int rc = id_map_each(&v->ids, list_one, &l);
    if (!json && screen_table_print(&l.table, stdout))
        rc = fis_fail(e, FIS_NOMEM, "no memory for the table");
    byte_buffer_done(&l.line);
    return rc;
}

static int show_status(struct cli *c, const struct ledger_view *v, bool json, struct fis_error *e)
{
    struct agreement_view agreement;
    int rc = ledger_view_agreement(v, &agreement, e);
    if (rc)
        return rc;
    struct asking_pause pause = {0};
    if (v->state.paused && !json)
        last_pause_read(c, &pause);
    struct asking asking = ledger_view_asking(v, &c->cfg.selection, &pause, cli_wall_ms());
    if (json)
        return print_status_json(c, v, &agreement, &asking, e);
    print_status(c, v, &agreement, &asking);
    return 0;
}

static int status(struct cli *c, const struct options *o)
{
    struct fis_error e;
    struct ledger_view v = {0};
    int rc = cli_open(c, &e);
    if (!rc)
        rc = ledger_view_read(&v, c, &e);
    if (!rc && !v.found)
        rc = fis_fail(&e, FIS_INPUT, "%s: no trainer has written its state yet",
                      c->cfg.topics.ledger);
    if (!rc && v.bad)
        cli_say("%s on %s passed over", DECIMAL_COUNT(v.bad, "message"), c->cfg.topics.ledger);
    if (!rc && o->open)
        rc = print_open(c, &v, o->control.json, &e);
    else if (!rc)
        rc = show_status(c, &v, o->control.json, &e);
    ledger_view_done(&v);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {.control.wait_ms = 1000 * WAIT_S};
    int first;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, &o, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    const char *verb = first < argc ? argv[first] : "";
    int n = argc - first - 1;
    bool cancel = !strcmp(verb, "cancel"), resend = !strcmp(verb, "resend");
    if ((o.all && !cancel) || ((o.all || (resend && o.open)) && n > 0))
        return cli_usage(self, "%s",
                         o.all ? "--all is of cancel, and in place of IDs"
                               : "--open is in place of IDs");
    if ((cancel || resend) && n > 0)
        return control_records(c, self, cancel ? WIRE_CONTROL_CANCEL : WIRE_CONTROL_RESEND, n,
                               argv + first + 1, &o.control);
    if (o.all || resend)
        return control_run(c, o.all ? WIRE_CONTROL_CANCEL_ALL : WIRE_CONTROL_RESEND, NULL, 0, 0,
                           &o.control);
    if (cancel)
        return cli_usage(self, "cancel requires the ID of at least one record, or --all");
    bool pause = !strcmp(verb, "pause"), resume = !strcmp(verb, "resume");
    if (!pause && !resume && strcmp(verb, "status"))
        return cli_usage(self, "found '%s', allowed status, pause, resume, cancel, resend", verb);
    if (n > 0)
        return cli_usage(self, "%s takes no argument", verb);
    if (!pause && !resume)
        return status(c, &o);
    return control_run(c, pause ? WIRE_CONTROL_PAUSE : WIRE_CONTROL_RESUME, NULL, 0, 0, &o.control);
}

static const struct command_option options[] = {
    {"open", 'o', CLI_FLAG, offsetof(struct options, open), NULL,
     "status: the open requests, one by one; resend: all of them, as without IDs"},
    {"all", 'a', CLI_FLAG, offsetof(struct options, all), NULL, "cancel: every open request"},
    CLI_CONTROL_OPTIONS(struct options, control, 'w', WAIT_S),
    {.name = NULL},
};

const struct cli_command cmd_labels = {
    .name = "labels",
    .arguments = "status|pause|resume|cancel ID…|cancel --all|resend [ID…] [options]",
    .summary = "requests and budgets; pause, resume, cancel, send again",
    .text =
        "status  whether labels are requested, and if not, why; open requests with their age; how\n"
        "        the others ended; the budgets. accepted: kept by the check on arrival; labels\n"
        "        are checked again as training goes on, and the number that is kept now is in the\n"
        "        log, in models list and in the metric fisd_labels_kept. With several annotators\n"
        "        a record, their agreement (docs/labelling.md)\n"
        "pause   no label is requested until resume, also after a restart; answers are taken\n"
        "resume  requests go on, also where selection.patience has ended them\n"
        "cancel  withdraws the open requests of these records, or all, and refunds them to the\n"
        "        budget; other records are requested in their place (not while paused)\n"
        "resend  sends the open requests of these records, or all, again: when the topic of\n"
        "        requests was lost, or the labelling tool is new\n\n"
        "The last four are commands to the trainer. Exit code 0: done; 1: refused, with the\n"
        "reason; 3: no trainer has taken the command yet; the next one will.",
    .options = options,
    .run = run,
};
