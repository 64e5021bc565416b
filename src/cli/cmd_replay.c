/*
 * fisctl replay: rows of a file onto a topic, no faster than asked and, on the embedded broker, no
 * faster than the scorers read.
 */
#include "cli/command_table.h"

#include <string.h>

#include "base/decimal.h"
#include "cli/pace.h"
#include "cli/records.h"
#include "cli/screen.h"
#include "cli/sender.h"
#include "config/topic_list.h"
#include "config/topic_list.h"
#include "stream/topics.h"

enum { LAG_MS = 2000, STUCK_MS = 5000 };

struct options {
    const char *topic, *key, *encoding, *leave_out;
    double rate;
    uint64_t limit;
    struct data_reading read;
};

struct replay {
    struct cli *cli;
    const char *topic;
    char group[CONFIG_GROUP_MAX];
    struct records records;
    struct sender sender;
    struct pace pace;
    struct screen_progress progress;
    int64_t start_ms, moved_ms; /* moved: when a record was last allowed */
    bool stuck;                 /* reported so */
    uint64_t limit;
    struct fis_error lag_error;
};

static void show(struct replay *r, int64_t now)
{
    char sent[DECIMAL_GROUPED], unread[DECIMAL_GROUPED];
    double seconds = (double)(now - r->start_ms) / 1000;
    if (!screen_progress_due(&r->progress, now))
        return;
    decimal_grouped(r->sender.sent, sent);
    if (r->pace.partitions)
        screen_progress_show(&r->progress, now, "%s sent, %.0f/s, at most %s unread", sent,
                             (double)r->sender.sent / (seconds > 0 ? seconds : 1),
                             decimal_grouped(pace_unread(&r->pace), unread));
    else
        screen_progress_show(&r->progress, now, "%s sent, %.0f/s", sent,
                             (double)r->sender.sent / (seconds > 0 ? seconds : 1));
}

static int ask_lag(struct replay *r, int64_t now, struct fis_error *e)
{
    int64_t lag;
    /* What is still in the producer's queue is not on the topic yet, and unread for certain. */
    uint64_t sent = r->sender.sent, queued = stream_producer_outstanding(r->sender.producer);
    if (!pace_ask(&r->pace, now))
        return 0;
    if (stream_group_lag(&r->cli->client, r->group, r->topic, LAG_MS, &lag, &r->lag_error)) {
        r->pace.asked_ms = cli_now_ms();
        return cli_broker_gone(r->cli, e);
    }
    r->lag_error.kind = FIS_OK;
    pace_lag(&r->pace, (uint64_t)lag + queued, sent, cli_now_ms());
    return 0;
}

static void say_stuck(struct replay *r, int64_t now)
{
    if (r->stuck || now - r->moved_ms < STUCK_MS)
        return;
    screen_progress_end(&r->progress, true);
    if (r->lag_error.kind != FIS_OK)
        cli_say("waiting: the scorers' progress is unknown: %s", r->lag_error.text);
    else
        cli_say("waiting for the scorers: %s unread; is fisd running? (group %s)",
                DECIMAL_COUNT(pace_unread(&r->pace), "record"), r->group);
    r->stuck = true;
}

/* Until a record may be sent: 1. 0: it is time to stop. */
static int wait_turn(struct replay *r, struct fis_error *e)
{
    for (;;) {
        int64_t now = cli_now_ms();
        int rc = ask_lag(r, now, e);
        if (rc)
            return rc;
        show(r, now);
        if (cli_stopping(r->cli))
            return 0;
        if (pace_allowed(&r->pace, now)) {
            r->moved_ms = now;
            r->stuck = false;
            return 1;
        }
        say_stuck(r, now);
        sender_poll(&r->sender);
        cli_wait(r->cli, -1, pace_wait_ms(&r->pace, now));
    }
}

static int send_one(struct replay *r, struct fis_error *e)
{
    const struct fis_id *id = &r->records.id;
    int rc = sender_send(&r->sender, r->topic, r->records.has_id ? id->bytes : NULL, id->length,
                         r->records.value.data, r->records.value.length, e);
    if (rc)
        return rc;
    pace_sent(&r->pace, r->records.value.length);
    return r->sender.refused ? fis_fail(e, r->sender.first.kind, "%s", r->sender.first.text) : 0;
}

/* 0: all of it (or the limit) was sent, or it was interrupted. */
static int send_all(struct replay *r, struct fis_error *e)
{
    int rc = 1;
    while (rc > 0 && r->sender.sent < r->limit) {
        rc = wait_turn(r, e);
        if (rc > 0)
            rc = records_next(&r->records, e);
        if (rc > 0 && !(rc = send_one(r, e)))
            rc = 1;
    }
    return rc < 0 ? rc : 0;
}

/* What was sent and what was not. Rows that were read and did not arrive are among the latter. The
 * rest of standard input, which may never end, is not counted. */
static void say_rest(struct replay *r, bool counted)
{
    uint64_t arrived = r->sender.arrived;
    char sent[64], rest[64] = "the rest";
    decimal_counted(arrived, "record", sent);
    uint64_t left = counted ? records_left(&r->records) + r->sender.sent - arrived : 2;
    if (counted)
        decimal_counted(left, "row", rest);
    cli_say("%s %s sent, %s %s not", sent, arrived == 1 ? "was" : "were", rest,
            left == 1 || !counted ? "was" : "were");
}

static int finish(struct replay *r, int rc, struct fis_error *e)
{
    struct fis_error late;
    char sent[64];
    bool stopped = r->cli->stopping, counted = strcmp(r->records.o.path, CLI_STDIN) != 0;
    int closed = sender_close(&r->sender, &late);
    screen_progress_end(&r->progress, false);
    if (r->records.odd)
        cli_say("warning: a text in a numeric column in %s (first line %llu, column %s): fisd "
                "refuses such rows, see the dead-letter topic",
                DECIMAL_COUNT(r->records.odd, "row"), (unsigned long long)r->records.odd_line,
                r->records.odd_column);
    if (rc || closed) {
        cli_fail(rc ? e : &late);
        say_rest(r, counted);
        return CLI_FAILED;
    }
    printf("sent %s\n", decimal_counted(r->sender.arrived, "record", sent));
    if (stopped)
        cli_say("interrupted: the rest of the file was not sent");
    return stopped ? CLI_FAILED : CLI_DONE;
}

/* NULL text: the default. */
static int encoding_of(const struct cli *c, const char *text, enum wire_encoding *out)
{
    static const enum wire_encoding all[] = {WIRE_JSON, WIRE_PROTOBUF, WIRE_RAW};
    *out = c->records_encoding;
    for (int i = 0; text && i < 3; i++)
        if (!strcmp(text, wire_encoding_name(all[i]))) {
            *out = all[i];
            return 0;
        }
    return text ? -1 : 0;
}

static int open_all(struct replay *r, struct cli *c, const struct options *o,
                    const struct records_options *records, struct fis_error *e)
{
    r->cli = c;
    r->limit = o->limit ? o->limit : UINT64_MAX;
    r->topic = o->topic ? o->topic : c->cfg.topics.records;
    config_scorer_group(&c->cfg, r->group);
    int rc = records_open(&r->records, c, records, e);
    if (!rc)
        rc = sender_open(&r->sender, c, e);
    r->start_ms = r->moved_ms = cli_now_ms();
    /* Only the records topic has readers whose place is known, and in pool mode they have none. */
    bool pool = c->cfg.selection.mode == CONFIG_POOL, bounded = c->embedded && records->to_records;
    uint32_t partitions = bounded && !pool ? c->cfg.topics.partitions : 0;
    if (!rc && bounded && pool)
        cli_say("the embedded broker keeps about 5 MB a partition: of a pool that is larger, the "
                "first records are lost");
    pace_init(&r->pace, o->rate, partitions, r->start_ms);
    screen_progress_init(&r->progress, stderr, r->start_ms);
    return rc;
}

static int replay(struct cli *c, const struct cli_command *self, const struct options *o,
                  const char *path)
{
    struct fis_error e;
    struct replay r = {0};
    struct records_options records = {.path = path, .read = &o->read};
    if (cli_open(c, &e))
        return cli_fail(&e);
    if (encoding_of(c, o->encoding, &records.encoding))
        return cli_usage(self, "--encoding: found '%s', allowed json, protobuf, raw", o->encoding);
    records.leave_out = o->leave_out;
    records.id_column = o->key ? o->key : c->cfg.records.id;
    records.to_records = !o->topic;
    const char *topics[CONFIG_RECORDS_MAX];
    for (uint32_t n = config_record_topics(&c->cfg, topics); n && !records.to_records;)
        records.to_records = !strcmp(o->topic, topics[--n]);
    int code;
    if (records.encoding == WIRE_REGISTRY && records.to_records) {
        fis_fail(&e, FIS_INPUT,
                 "records.encoding is registry: fisctl writes neither Avro nor protobuf; send the "
                 "rows with the serializer of your application");
        return cli_fail(&e);
    }
    if (records.encoding == WIRE_REGISTRY)
        records.encoding = WIRE_JSON;
    if (open_all(&r, c, o, &records, &e))
        code = cli_fail(&e);
    else
        code = finish(&r, send_all(&r, &e), &e);
    records_close(&r.records);
    return code;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {0};
    const char *path;
    enum cli_parsed parsed = cli_parse_file(c, self, argc, argv, &o, &path);
    return parsed == CLI_GO ? replay(c, self, &o, path) : cli_parsed_exit(parsed);
}

static const struct command_option options[] = {
    {"rate", 'r', CLI_RATE, offsetof(struct options, rate), "N", "records a second at most"},
    {"limit", 'n', CLI_COUNT, offsetof(struct options, limit), "N", "end after so many records"},
    {"topic", 't', CLI_TEXT, offsetof(struct options, topic), "NAME",
     "the topic; default topics.records of the configuration, the first if it is a list"},
    {"key", 'k', CLI_TEXT, offsetof(struct options, key), "COLUMN",
     "the column that is the message's key; default records.id"},
    {"encoding", 'e', CLI_TEXT, offsetof(struct options, encoding), "NAME",
     "json, protobuf or raw; default records.encoding"},
    {"leave-out", 0, CLI_TEXT, offsetof(struct options, leave_out), "COL[,COL]",
     "columns of a CSV file that are not sent"},
    CLI_READING_OPTIONS(struct options, read),
    {.name = NULL},
};

const struct cli_command cmd_replay = {
    .name = "replay",
    .arguments = "FILE [options]",
    .summary = "send the rows of a CSV or JSON lines file to the records topic",
    .text =
        "Sends each row of FILE (CSV with a header, or JSON lines; - is standard input, with\n"
        "--format) as one record. In CSV, cells of numeric columns become numbers, all others\n"
        "strings, and empty cells are left out; protobuf and raw cannot express a missing value,\n"
        "so that an empty cell ends the command.\n\n"
        "On the embedded broker, which keeps about 5 MB a partition, replay waits for the\n"
        "scorers, so that no record is lost (but not with selection.mode: pool).\n\n"
        "A file whose header lacks a configured column, or has a refused one, is not sent. gzip\n"
        "is unpacked. A first column without a name (csv.unnamed) is not sent.\n\n"
        "A row that cannot be read ends the command: exit code 1, with the line and the numbers\n"
        "of records that were sent and of rows that were not.",
    .options = options,
    .run = run,
};
