#include "cli/control.h"

#include <string.h>
#include <unistd.h>

#include "cli/ledger_view.h"
#include "cli/screen.h"
#include "cli/sender.h"
#include "cli/topic_reader.h"
#include "fis/mem.h"
#include "wire/protobuf_codec.h"

struct control {
    struct cli *cli;
    const struct control_options *o;
    struct topic_reader reader; /* of the ledger, read to its end at the start */
    struct ledger_view view;
    struct sender sender;
    struct byte_buffer value;
    uint32_t sent;
};

enum control_outcome { CONTROL_TAKEN = 1, CONTROL_REFUSED, CONTROL_PENDING };

static int take_state(void *arg, const struct stream_message *m, struct fis_error *e)
{
    int rc = ledger_view_take(arg, m, false, e);
    return rc < 0 ? rc : 0;
}

/* Reads the ledger to its end. RETRY: it cannot be read. */
static int control_open(struct control *c, struct cli *cli, const struct control_options *o,
                        struct fis_error *e)
{
    const char *topic = cli->cfg.topics.ledger;
    *c = (struct control){.cli = cli, .o = o};
    int rc = ledger_view_init(&c->view, cli->schema.max_bytes, e);
    if (!rc)
        rc = topic_reader_open(&c->reader, cli, &topic, 1, e);
    if (!rc)
        rc = topic_reader_to_end(&c->reader, topic, take_state, &c->view, e);
    if (rc)
        return fis_error_prefix(e, "nothing was sent");
    return sender_open(&c->sender, cli, e);
}

static void control_close(struct control *c)
{
    struct fis_error none;
    int late = sender_close(&c->sender, &none); /* each command was flushed and answered for */
    (void)late;
    topic_reader_close(&c->reader);
    ledger_view_done(&c->view);
    byte_buffer_done(&c->value);
}

/* No other command has it: host, process, time, and which one of the process. */
static int name_command(struct control *c, struct fis_id *id, struct fis_error *e)
{
    char host[64] = "", text[FIS_ID_MAX];
    if (gethostname(host, sizeof host - 1))
        snprintf(host, sizeof host, "unknown");
    screen_clean(host);
    int n = snprintf(text, sizeof text, "%s/%ld/%lld/%u", host, (long)getpid(),
                     (long long)cli_wall_ms(), ++c->sent);
    return fis_id_set(id, text, (size_t)n) ? fis_fail(e, FIS_INPUT, "no id for a command") : 0;
}

static bool is_answer(const struct control *c, const struct fis_id *command)
{
    return c->view.found && strlen(c->view.control_id) == command->length &&
           !memcmp(c->view.control_id, command->bytes, command->length);
}

static int await(struct control *c, const struct fis_id *command, enum control_outcome *outcome,
                 char text[FIS_ERROR_TEXT], struct fis_error *e)
{
    struct stream_message m;
    int64_t until = cli_now_ms() + (int64_t)c->o->wait_ms;
    *outcome = CONTROL_PENDING;
    while (cli_now_ms() < until && !cli_stopping(c->cli)) {
        int rc = topic_reader_next(&c->reader, 100, &m, e);
        if (rc > 0)
            rc = ledger_view_take(&c->view, &m, false, e);
        if (rc < 0)
            return rc;
        if (!rc || !is_answer(c, command))
            continue;
        *outcome = c->view.state.control_ok ? CONTROL_TAKEN : CONTROL_REFUSED;
        snprintf(text, FIS_ERROR_TEXT, "%s", c->view.control_text);
        screen_clean(text);
        return 0;
    }
    snprintf(text, FIS_ERROR_TEXT,
             "sent, and no trainer has taken it within %.3g s; one that runs, or is started, will",
             (double)c->o->wait_ms / 1000);
    return 0;
}

/* Sends one and waits for what becomes of it; `text` says it. record: of CANCEL, else NULL. */
static int control_send(struct control *c, enum wire_control_kind kind, const struct fis_id *record,
                        uint64_t version, enum control_outcome *outcome, char text[FIS_ERROR_TEXT],
                        struct fis_error *e)
{
    char user[64];
    struct wire_control w = {.kind = kind,
                             .version = version,
                             .by = c->o->by ? c->o->by : cli_user(user),
                             .reason = c->o->reason,
                             .at_ms = cli_wall_ms()};
    if (record)
        w.record = *record;
    c->value.length = 0;
    int rc = name_command(c, &w.command, e);
    if (!rc)
        rc = wire_control_encode(&w, &c->value, e);
    if (!rc)
        rc = sender_send(&c->sender, c->cli->cfg.topics.control, w.command.bytes, w.command.length,
                         c->value.data, c->value.length, e);
    if (!rc)
        rc = sender_flush(&c->sender, e);
    return rc ? rc : await(c, &w.command, outcome, text, e);
}

/* ---- for people and scripts ----------------------------------------------------------------- */

static int print_json(const char *name, const struct fis_id *record, enum control_outcome outcome,
                      const char *text, struct fis_error *e)
{
    static const char *const words[] = {"", "done", "refused", "pending"};
    struct byte_buffer line = {0};
    struct wire_json_put p = wire_put(&line, e);
    wire_put_open(&p, NULL, '{');
    wire_put_text(&p, "command", name);
    if (record)
        wire_put_bytes(&p, "id", record->bytes, record->length);
    wire_put_text(&p, "outcome", words[outcome]);
    wire_put_text(&p, "text", text);
    wire_put_close(&p, '}');
    int rc = screen_json(&p);
    byte_buffer_done(&line);
    return rc;
}

static void print_plain(const char *name, const struct fis_id *record, enum control_outcome outcome,
                        const char *text)
{
    char id[FIS_ID_MAX + 2] = "";
    if (record) {
        snprintf(id, sizeof id, " %.*s", (int)record->length, record->bytes);
        screen_clean(id);
    }
    if (outcome == CONTROL_TAKEN)
        printf("%s%s: done%s%s\n", name, id, *text ? ": " : "", text);
    else
        cli_say("%s%s: %s%s", name, id, outcome == CONTROL_REFUSED ? "refused: " : "", text);
}

static int run_one(struct control *c, enum wire_control_kind kind, const struct fis_id *record,
                   uint64_t version, int *code, struct fis_error *e)
{
    static const int codes[] = {CLI_FAILED, CLI_DONE, CLI_FAILED, CLI_PENDING};
    enum control_outcome outcome;
    char text[FIS_ERROR_TEXT];
    int rc = control_send(c, kind, record, version, &outcome, text, e);
    if (rc)
        return rc;
    /* A refusal weighs more than what may still be done. */
    if (*code != CLI_FAILED && codes[outcome] != CLI_DONE)
        *code = codes[outcome];
    if (c->o->json)
        rc = print_json(wire_control_name(kind), record, outcome, text, e);
    else
        print_plain(wire_control_name(kind), record, outcome, text);
    fflush(stdout);
    return rc;
}

int control_run(struct cli *cli, enum wire_control_kind kind, const struct fis_id *records,
                uint32_t n, uint64_t version, const struct control_options *o)
{
    struct control c;
    struct fis_error e;
    int code = CLI_DONE, rc = cli_open(cli, &e);
    if (rc)
        return cli_fail(&e);
    rc = control_open(&c, cli, o, &e);
    if (!rc && !n)
        rc = run_one(&c, kind, NULL, version, &code, &e);
    for (uint32_t i = 0; !rc && i < n && !cli_stopping(cli); i++)
        rc = run_one(&c, kind, &records[i], version, &code, &e);
    if (!rc && cli_stopping(cli) && code == CLI_DONE)
        code = CLI_FAILED;
    control_close(&c);
    return rc ? cli_fail(&e) : code;
}

int control_records(struct cli *c, const struct cli_command *self, enum wire_control_kind kind,
                    int n, char **ids, const struct control_options *o)
{
    struct fis_id *records = fis_calloc((size_t)n, sizeof *records);
    int code = CLI_DONE;
    if (!records) {
        cli_say("no memory for %d ids", n);
        return CLI_FAILED;
    }
    for (int i = 0; i < n && code == CLI_DONE; i++)
        if (fis_id_set(&records[i], ids[i], strlen(ids[i])))
            code =
                cli_usage(self, "ID: found %zu bytes, allowed 1 to %d", strlen(ids[i]), FIS_ID_MAX);
    if (code == CLI_DONE)
        code = control_run(c, kind, records, (uint32_t)n, 0, o);
    fis_free(records);
    return code;
}
