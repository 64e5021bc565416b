/*
 * fisctl ledger: what was asked for, when, by which head, and what came of it, as a table.
 */
#include "cli/command_table.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/decimal.h"
#include "cli/ledger_view.h"
#include "cli/request_view.h"
#include "cli/screen.h"
#include "fis/mem.h"
#include "wire/csv.h"

struct options {
    bool json;
};

/* What the request's message says, which the ledger does not repeat. */
struct asked {
    int64_t at_ms; /* 0: the message is no longer on the topic */
    uint64_t head;
    char criterion[32];
};

struct exporting {
    struct cli *cli;
    struct ledger_view ledger;
    struct asked *asked; /* [ledger.n] */
    uint64_t bad;        /* requests that could not be read */
    struct line {
        struct fis_id id;
        uint32_t place;
        uint64_t at; /* on the pipeline's clock */
    } * lines;
    uint32_t n;
};

static int take_request(void *arg, const struct stream_message *m, struct fis_error *e)
{
    struct exporting *x = arg;
    const struct wire_message w = binding_message(m, x->cli->cfg.topics.label_requests);
    struct wire_request_shown r;
    uint32_t place;
    struct fis_error why;
    int rc = request_read(x->cli, &w, 0, &r, &why);
    if (rc == -FIS_NOMEM)
        return fis_fail(e, FIS_NOMEM, "%s", why.text);
    x->bad += rc < 0;
    if (rc > 0 && !r.cancelled && id_map_get(&x->ledger.ids, &r.id, &place)) {
        struct asked *a = &x->asked[place];
        a->at_ms = m->timestamp_ms;
        a->head = r.head;
        snprintf(a->criterion, sizeof a->criterion, "%s", r.criterion);
    }
    wire_request_shown_done(&r);
    return 0;
}

static int keep_line(void *arg, const struct fis_id *id, uint32_t place)
{
    struct exporting *x = arg;
    if (x->ledger.records[place].state != WIRE_IN_HEAP)
        x->lines[x->n++] = (struct line){*id, place, x->ledger.records[place].asked_at_ms};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct line *p = a, *q = b;
    return p->at != q->at ? (p->at > q->at) - (p->at < q->at) : fis_id_compare(&p->id, &q->id);
}

static const char *state_name(enum wire_ledger_state s)
{
    static const char *const names[] = {"",        "held",    "open",      "accepted", "set_aside",
                                        "expired", "skipped", "cancelled", "tied"};
    return names[s];
}

static const char *class_of(const struct exporting *x, const struct ledger_record *r)
{
    bool answered = r->state == WIRE_ACCEPTED || r->state == WIRE_SET_ASIDE;
    return answered && r->class_index < x->cli->schema.n_classes
               ? x->cli->schema.classes[r->class_index]
               : "";
}

static const char *time_text(int64_t ms, char out[32])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    out[0] = 0;
    if (ms && gmtime_r(&seconds, &tm))
        strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return out;
}

static void put_csv(const struct exporting *x, const struct line *l)
{
    const struct ledger_record *r = &x->ledger.records[l->place];
    const struct asked *a = &x->asked[l->place];
    const char *name = class_of(x, r);
    char at[32];
    wire_csv_put(stdout, l->id.bytes, l->id.length);
    printf(",%u,%s,%s,", r->round, time_text(a->at_ms, at), a->criterion);
    if (a->at_ms)
        printf("%llu", (unsigned long long)a->head);
    printf(",%s,", state_name(r->state));
    wire_csv_put(stdout, name, strlen(name));
    printf(",%u,%u,%d\n", r->votes, r->required, !r->refunded);
}

static int put_json(const struct exporting *x, const struct line *l, struct byte_buffer *text,
                    struct fis_error *e)
{
    const struct ledger_record *r = &x->ledger.records[l->place];
    const struct asked *a = &x->asked[l->place];
    const char *name = class_of(x, r);
    char at[32];
    struct wire_json_put p = wire_put(text, e);
    wire_put_open(&p, NULL, '{');
    wire_put_bytes(&p, "id", l->id.bytes, l->id.length);
    wire_put_count(&p, "round", r->round);
    if (a->at_ms) {
        wire_put_text(&p, "asked_at", time_text(a->at_ms, at));
        wire_put_text(&p, "criterion", a->criterion);
        wire_put_count(&p, "head", a->head);
    }
    wire_put_text(&p, "state", state_name(r->state));
    if (*name)
        wire_put_text(&p, "class", name);
    wire_put_count(&p, "votes", r->votes);
    wire_put_count(&p, "of", r->required);
    wire_put_bool(&p, "charged", !r->refunded);
    wire_put_close(&p, '}');
    return screen_json(&p);
}

static int print_all(struct exporting *x, bool json, struct fis_error *e)
{
    struct byte_buffer text = {0};
    int rc = 0;
    x->lines = fis_calloc((size_t)x->ledger.n + 1, sizeof *x->lines);
    if (!x->lines)
        return fis_fail(e, FIS_NOMEM, "no memory for %u records", x->ledger.n);
    id_map_each(&x->ledger.ids, keep_line, x);
    qsort(x->lines, x->n, sizeof *x->lines, by_time);
    if (!json)
        puts("id,round,asked_at,criterion,head,state,class,votes,of,charged");
    for (uint32_t i = 0; !rc && i < x->n; i++)
        if (json)
            rc = put_json(x, &x->lines[i], &text, e);
        else
            put_csv(x, &x->lines[i]);
    byte_buffer_done(&text);
    return rc;
}

static int export(struct exporting *x, bool json, struct fis_error *e)
{
    struct cli *c = x->cli;
    int rc = cli_open(c, e);
    if (!rc)
        rc = ledger_view_read(&x->ledger, c, e);
    if (!rc && !(x->asked = fis_calloc((size_t)x->ledger.n + 1, sizeof *x->asked)))
        rc = fis_fail(e, FIS_NOMEM, "no memory for %u records", x->ledger.n);
    if (!rc)
        rc = topic_reader_all(c, c->cfg.topics.label_requests, take_request, x, e);
    if (!rc && x->ledger.bad + x->bad)
        cli_say("passed over: %s on %s and %llu on %s", DECIMAL_COUNT(x->ledger.bad, "message"),
                c->cfg.topics.ledger, (unsigned long long)x->bad, c->cfg.topics.label_requests);
    return rc ? rc : print_all(x, json, e);
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {0};
    struct exporting x = {.cli = c};
    struct fis_error e;
    int first;
    enum cli_parsed parsed = cli_parse(c, self, argc, argv, &o, &first);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (argc - first != 1 || strcmp(argv[first], "export"))
        return cli_usage(self, "export is expected");
    int rc = export(&x, o.json, &e);
    ledger_view_done(&x.ledger);
    fis_free(x.asked);
    fis_free(x.lines);
    return rc ? cli_fail(&e) : CLI_DONE;
}

static const struct command_option options[] = {
    {"json", 'j', CLI_FLAG, offsetof(struct options, json), NULL, "one JSON object a line"},
    {.name = NULL},
};

const struct cli_command cmd_ledger = {
    .name = "ledger",
    .arguments = "export [options]",
    .summary = "what was requested, when, under which head; the answer; the charge",
    .text =
        "export  a row for each record whose label was requested, in the order of requests, as\n"
        "        CSV or JSON lines: id, round, asked_at, criterion and head (from the topic of\n"
        "        label requests, as long as it keeps them), state (open, accepted, set_aside,\n"
        "        expired, skipped, cancelled, tied), class, votes of those required, and\n"
        "        whether the budget is charged. Sensitive attributes are not on these topics",
    .options = options,
    .run = run,
};
