#include "daemon/monitor/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wire/protobuf_codec.h"

const char *command_outcome_name(enum command_outcome o)
{
    static const char *const names[] = {"", "sending", "sent", "done", "refused", "taken", "lost"};
    return names[o];
}

void commands_done(struct commands *c)
{
    stream_producer_close(c->producer);
    byte_buffer_done(&c->buffer);
    c->producer = NULL;
}

/* No other command has it: host, process, time, which one of the process. */
static int name_command(struct commands *c, struct fis_id *id, int64_t at_ms, struct fis_error *e)
{
    char host[64] = "unknown", text[FIS_ID_MAX];
    gethostname(host, sizeof host - 1);
    int n = snprintf(text, sizeof text, "%s-%ld-%lld-%llu", host, (long)getpid(), (long long)at_ms,
                     (unsigned long long)c->sent + 1);
    return fis_id_set(id, text, (size_t)n) ? fis_fail(e, FIS_INPUT, "no id for a command") : 0;
}

static struct command *remember(struct commands *c, const struct wire_control *w)
{
    struct command *k = &c->items[c->next];
    *k = (struct command){
        .id = w->command, .kind = w->kind, .version = w->version, .at_ms = w->at_ms};
    k->outcome = COMMAND_SENDING;
    snprintf(k->by, sizeof k->by, "%s", w->by);
    c->next = (c->next + 1) % COMMANDS_MAX;
    if (c->count < COMMANDS_MAX)
        c->count++;
    c->sent++;
    return k;
}

static int send_it(struct commands *c, const struct stream_client *client, const char *topic,
                   const struct wire_control *w, struct fis_error *e)
{
    struct stream_producer_options o = {.client = *client};
    if (!c->producer && stream_producer_open(&c->producer, &o, e) < 0)
        return -(int)FIS_RETRY;
    c->buffer.length = 0;
    int rc = wire_control_encode(w, &c->buffer, e);
    if (rc < 0)
        return rc;
    return stream_producer_send(c->producer, topic, -1, w->command.bytes, w->command.length,
                                c->buffer.data, c->buffer.length, c->sent + 1, e);
}

int commands_send(struct commands *c, const struct stream_client *client, const char *topic,
                  const struct wire_control *what, const struct command **out, struct fis_error *e)
{
    struct wire_control w = *what;
    int rc = name_command(c, &w.command, w.at_ms, e);
    if (rc < 0 || (rc = send_it(c, client, topic, &w, e)) < 0)
        return rc;
    *out = remember(c, &w);
    return 0;
}

static struct command *by_age(struct commands *c, uint32_t age)
{
    return &c->items[(c->next + COMMANDS_MAX - 1 - age) % COMMANDS_MAX];
}

/* The command of this number, when it is still remembered. */
static struct command *by_number(struct commands *c, uint64_t number)
{
    uint64_t age = c->sent - number;
    if (number == 0 || number > c->sent || age >= c->count)
        return NULL;
    return by_age(c, (uint32_t)age);
}

static void on_report(void *arg, uint64_t token, enum fis_error_kind kind, const char *text)
{
    struct commands *c = arg;
    struct command *k = by_number(c, token);
    if (!k || k->outcome != COMMAND_SENDING)
        return;
    k->outcome = kind == FIS_OK ? COMMAND_SENT : COMMAND_LOST;
    snprintf(k->text, sizeof k->text, "%s",
             kind != FIS_OK ? text
             : c->follows   ? "the trainer that leads will take it"
                            : "the trainer that leads will take it, and reports the outcome: as "
                              "last_command of its /api/v1/status, and as control in its log");
}

bool commands_turn(struct commands *c, struct fis_error *e)
{
    if (!c->producer)
        return false;
    stream_producer_poll(c->producer, on_report, c);
    if (!stream_producer_error(c->producer, e))
        return false;
    if (e->kind == FIS_FATAL) {
        stream_producer_close(c->producer); /* the next command has a new one */
        c->producer = NULL;
    }
    return true;
}

static void overtaken(struct command *k)
{
    char id[160] = ""; /* name_command makes shorter ones */
    memcpy(id, k->id.bytes, k->id.length < sizeof id ? k->id.length : sizeof id - 1);
    k->outcome = COMMAND_TAKEN;
    snprintf(k->text, sizeof k->text,
             "a later command hides its outcome, which is in the log of the trainer that leads, in "
             "the line control with id=%s",
             id);
}

/* A state tells of the last command alone, and they are taken in their order: when it is about
 * one, those before it are over. */
void commands_outcome(struct commands *c, const char *id, bool ok, const char *text)
{
    size_t length = id ? strlen(id) : 0;
    bool found = false;
    for (uint32_t i = 0; i < c->count; i++) {
        struct command *k = by_age(c, i);
        if (found && k->outcome == COMMAND_SENT)
            overtaken(k);
        if (length != k->id.length || memcmp(k->id.bytes, id, length) != 0)
            continue;
        found = true;
        k->outcome = ok ? COMMAND_DONE : COMMAND_REFUSED;
        snprintf(k->text, sizeof k->text, "%s", text ? text : "");
    }
}

void commands_hold(struct commands *c, const char *id, bool ok, const char *text)
{
    snprintf(c->held.id, sizeof c->held.id, "%s", id ? id : "");
    snprintf(c->held.text, sizeof c->held.text, "%s", text ? text : "");
    c->held.ok = ok;
    c->held.there = true;
}

void commands_settle(struct commands *c, bool committed)
{
    if (committed && c->held.there)
        commands_outcome(c, c->held.id, c->held.ok, c->held.text);
    c->held.there = false;
}

const struct command *commands_at(const struct commands *c, uint32_t i)
{
    return i < c->count ? &c->items[(c->next + COMMANDS_MAX - 1 - i) % COMMANDS_MAX] : NULL;
}

const struct command *commands_find(const struct commands *c, const char *id)
{
    size_t length = strlen(id);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->items[i].id.length == length && !memcmp(c->items[i].id.bytes, id, length))
            return &c->items[i];
    return NULL;
}
