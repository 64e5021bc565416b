/*
 * fisctl label: answers label requests, from a file or by asking the person at the terminal.
 *
 * The labels that are on the topic already are read first, so that a second run does not answer
 * twice; then the requests from their beginning, as long as it takes. What is withdrawn before its
 * turn comes is not asked.
 */
#include "cli/command_table.h"

#include <string.h>

#include "cli/answers.h"
#include "cli/ask.h"
#include "cli/line_input.h"
#include "cli/request_queue.h"
#include "cli/screen.h"
#include "cli/sender.h"
#include "cli/topic_reader.h"
#include "fis/mem.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

enum { TROUBLE_MS = 3000 };

struct options {
    const char *answers, *label, *annotator;
    uint64_t limit, delay_ms, idle_ms;
    bool skip_unknown;
    struct data_reading read;
};

struct labelling {
    struct cli *cli;
    const struct options *o;
    const char *annotator;
    struct id_map answers;
    struct id_map answered, mine; /* how many answers an id has; those of this annotator */
    struct topic_reader requests;
    struct request_queue queue;
    struct sender sender;
    struct byte_buffer value;
    struct screen_progress progress;
    struct ask ask;
    struct line_input input;
    bool quit;
    uint64_t asked, labelled, skipped, unsure, unknown, withdrawn, shown;
    int64_t heard_ms;
};

static void say_trouble(struct screen_progress *p, struct topic_reader *r, int64_t *next_ms)
{
    int64_t now = cli_now_ms();
    if (now < *next_ms || r->last.kind == FIS_OK)
        return;
    *next_ms = now + 10 * TROUBLE_MS;
    screen_progress_end(p, true);
    cli_say("%s", r->last.text);
}

static int count_answer(struct labelling *l, const struct wire_label *label, struct fis_error *e)
{
    uint32_t before = 0;
    id_map_get(&l->answered, &label->id, &before);
    int rc = id_map_put(&l->answered, &label->id, before + 1, e);
    if (rc >= 0 && !strcmp(label->annotator, l->annotator))
        rc = id_map_add(&l->mine, &label->id, 0, NULL, e);
    return rc < 0 ? rc : 0;
}

/* Whether there is nothing more to say. One answer is needed, from anyone; or several, each from
 * another annotator. */
static bool is_answered(const struct labelling *l, const struct wire_request_shown *r)
{
    uint32_t answers = 0;
    id_map_get(&l->answered, &r->id, &answers);
    return answers >= r->votes || (r->votes > 1 && id_map_get(&l->mine, &r->id, NULL));
}

/* The ids that have an answer. What is no label is the daemon's to complain about. */
static int note_label(struct labelling *l, const struct stream_message *m, struct fis_arena *arena,
                      struct fis_error *e)
{
    struct wire_message w = binding_message(m, l->cli->cfg.topics.labels);
    struct wire_label label;
    struct fis_error none;
    fis_arena_reset(arena);
    enum wire_decoded d = l->cli->labels_encoding == WIRE_PROTOBUF
                              ? wire_protobuf_label(&l->cli->schema, &w, arena, &label, &none)
                              : wire_json_label(&l->cli->schema, &w, arena, &label, &none);
    return d == WIRE_OK ? count_answer(l, &label, e) : 0;
}

static int read_labels(struct labelling *l, struct fis_error *e)
{
    const char *topic = l->cli->cfg.topics.labels;
    struct topic_reader r = {0};
    struct stream_message m;
    struct fis_arena arena = {.size = 4 * l->cli->schema.max_bytes + 65536};
    int64_t trouble_ms = cli_now_ms() + TROUBLE_MS;
    arena.base = fis_alloc(1, arena.size);
    int rc = arena.base ? topic_reader_open(&r, l->cli, &topic, 1, e)
                        : fis_fail(e, FIS_NOMEM, "no memory for a label");
    while (!rc && !r.ended && !cli_stopping(l->cli)) {
        rc = topic_reader_next(&r, 500, &m, e);
        if (rc > 0)
            rc = note_label(l, &m, &arena, e);
        say_trouble(&l->progress, &r, &trouble_ms);
    }
    topic_reader_close(&r);
    fis_free(arena.base);
    return rc;
}

static int send_label(struct labelling *l, struct wire_label *label, struct fis_error *e)
{
    const struct cli *c = l->cli;
    l->value.length = 0;
    label->annotator = l->annotator;
    label->labelled_at_ms = cli_wall_ms();
    int rc = c->labels_encoding == WIRE_PROTOBUF
                 ? wire_protobuf_label_encode(&c->schema, label, &l->value, e)
                 : wire_json_label_encode(&c->schema, label, &l->value, e);
    if (!rc)
        rc = sender_send(&l->sender, c->cfg.topics.labels, label->id.bytes, label->id.length,
                         l->value.data, l->value.length, e);
    if (!rc)
        rc = count_answer(l, label, e);
    if (rc)
        return rc;
    l->labelled += label->status == WIRE_LABELLED;
    l->skipped += label->status == WIRE_SKIPPED;
    l->unsure += label->status == WIRE_UNSURE;
    return l->sender.refused ? fis_fail(e, l->sender.first.kind, "%s", l->sender.first.text) : 0;
}

static int answer_from_file(struct labelling *l, const struct wire_request_shown *r,
                            struct fis_error *e)
{
    struct wire_label label = {.id = r->id, .status = WIRE_LABELLED};
    if (!id_map_get(&l->answers, &r->id, &label.class_index)) {
        l->unknown++;
        if (!l->o->skip_unknown)
            return 0;
        label.status = WIRE_SKIPPED;
    }
    if (l->o->delay_ms)
        cli_sleep(l->cli, l->o->delay_ms);
    return cli_stopping(l->cli) ? 0 : send_label(l, &label, e);
}

static void print_question(struct labelling *l, const struct wire_request_shown *r)
{
    char id[FIS_ID_MAX + 1];
    memcpy(id, r->id.bytes, r->id.length);
    id[r->id.length] = 0;
    screen_clean(id);
    printf("\nrecord %s, round %u%s%s", id, r->round, r->criterion[0] ? ", picked by " : "",
           r->criterion);
    if (r->votes > 1)
        printf(", one of %u votes", r->votes);
    printf("\n\n");
    request_print(r, screen_columns(stdout), stdout);
    printf("\n");
    ask_print(&l->ask, stdout);
}

static int answer_by_person(struct labelling *l, const struct wire_request_shown *r,
                            struct fis_error *e)
{
    struct wire_label label = {.id = r->id, .status = WIRE_LABELLED};
    print_question(l, r);
    for (;;) {
        printf("label> ");
        fflush(stdout);
        const char *line = line_input_next(&l->input, l->cli);
        enum ask_answer a = line ? ask_read(&l->ask, line, &label.class_index) : ASK_QUIT;
        switch (a) {
        case ASK_QUIT:
            l->quit = true;
            if (!line)
                printf("\n");
            return 0;
        case ASK_AGAIN:
            printf("that is none of these: ");
            ask_print(&l->ask, stdout);
            continue;
        case ASK_SKIP:
            label.status = WIRE_SKIPPED;
            break;
        case ASK_UNSURE:
            label.status = WIRE_UNSURE;
            break;
        case ASK_CLASS:
            break;
        }
        return send_label(l, &label, e);
    }
}

/* Puts it in line, or takes the one that it withdraws out. */
static int take_request(struct labelling *l, const struct stream_message *m, struct fis_error *e)
{
    struct wire_request_shown r;
    struct wire_message w = binding_message(m, l->cli->cfg.topics.label_requests);
    int rc = request_read(l->cli, &w, l->o->answers == NULL, &r, e);
    l->heard_ms = cli_now_ms();
    if (rc == -FIS_INPUT) {
        screen_progress_end(&l->progress, true);
        cli_say("a label request (partition %d, offset %lld) is passed over: %s", (int)m->partition,
                (long long)m->offset, e->text);
        return 0;
    }
    if (rc <= 0)
        return rc;
    if (r.cancelled || is_answered(l, &r)) {
        /* What was asked and withdrawn before this labeller came is none of its news. */
        if (r.cancelled && request_queue_drop(&l->queue, &r.id))
            l->withdrawn += l->requests.ended;
        wire_request_shown_done(&r);
        return 0;
    }
    rc = request_queue_add(&l->queue, &r, e);
    return rc < 0 ? rc : 0;
}

/* All that is there; waits a moment when nothing is in line. */
static int take_requests(struct labelling *l, struct fis_error *e)
{
    struct stream_message m;
    int rc, ms = request_queue_count(&l->queue) && l->requests.ended ? 0 : 100;
    while ((rc = topic_reader_next(&l->requests, ms, &m, e)) > 0) {
        rc = take_request(l, &m, e);
        if (rc < 0 || cli_stopping(l->cli))
            return rc;
        ms = 0;
    }
    return rc;
}

static int answer_next(struct labelling *l, struct fis_error *e)
{
    struct wire_request_shown r;
    /* Before the end is reached, what comes may withdraw what is in line. */
    if (!l->requests.ended || cli_stopping(l->cli) || !request_queue_next(&l->queue, &r))
        return 0;
    int rc = 0;
    if (!is_answered(l, &r)) {
        l->asked++;
        rc = l->o->answers ? answer_from_file(l, &r, e) : answer_by_person(l, &r, e);
    }
    wire_request_shown_done(&r);
    l->heard_ms = cli_now_ms();
    return rc ? rc : 1;
}

/* While it runs and at its end the same words. */
static void summary(const struct labelling *l, char out[256])
{
    char labelled[64];
    int n = snprintf(out, 256, "%s sent, %llu skipped, %llu unsure",
                     decimal_counted(l->labelled, "label", labelled),
                     (unsigned long long)l->skipped, (unsigned long long)l->unsure);
    if (l->o->answers)
        n += snprintf(out + n, 256 - (size_t)n, "; asked for %llu, %llu of them not in the file",
                      (unsigned long long)l->asked, (unsigned long long)l->unknown);
    if (l->withdrawn)
        snprintf(out + n, 256 - (size_t)n, "; %llu withdrawn before their turn",
                 (unsigned long long)l->withdrawn);
}

static void show(struct labelling *l, int64_t now)
{
    char text[256];
    if (!l->o->answers || !screen_progress_due(&l->progress, now))
        return;
    /* Lines are for news, and the last is the end's; a terminal's line is drawn again. */
    bool ends = l->o->idle_ms && request_queue_count(&l->queue) == 0;
    if (!l->progress.live && (l->asked == l->shown || ends))
        return;
    l->shown = l->asked;
    summary(l, text);
    screen_progress_show(&l->progress, now, "so far: %s", text);
}

/* Says once that there is nothing to do; true when nobody is there to answer what may come. */
static bool wait_for_more(struct labelling *l, bool *waiting)
{
    if (l->o->answers || cli_now_ms() - l->heard_ms <= 1000)
        return false;
    if (line_input_ended(&l->input))
        return true;
    if (!*waiting)
        printf("\nwaiting for requests (Ctrl-C ends)\n");
    fflush(stdout);
    *waiting = true;
    return false;
}

static int serve(struct labelling *l, struct fis_error *e)
{
    const char *topic = l->cli->cfg.topics.label_requests;
    int64_t trouble_ms = cli_now_ms() + TROUBLE_MS;
    int rc = topic_reader_open(&l->requests, l->cli, &topic, 1, e);
    bool waiting = false;
    l->heard_ms = cli_now_ms();
    while (rc >= 0 && !l->quit && !cli_stopping(l->cli)) {
        uint64_t answered = l->labelled + l->skipped + l->unsure;
        if (l->o->limit && answered >= l->o->limit)
            break;
        rc = take_requests(l, e);
        if (!rc)
            rc = answer_next(l, e);
        if (rc > 0)
            waiting = false;
        else if (!rc && wait_for_more(l, &waiting))
            break;
        int64_t now = cli_now_ms();
        sender_poll(&l->sender);
        show(l, now);
        say_trouble(&l->progress, &l->requests, &trouble_ms);
        if (l->o->idle_ms && now - l->heard_ms >= (int64_t)l->o->idle_ms)
            break;
    }
    topic_reader_close(&l->requests);
    return rc < 0 ? rc : 0;
}

static int finish(struct labelling *l, int rc, const struct fis_error *e)
{
    struct fis_error late;
    char text[256];
    int closed = sender_close(&l->sender, &late);
    screen_progress_end(&l->progress, false);
    if (rc)
        cli_fail(e);
    if (closed)
        cli_fail(&late);
    summary(l, text);
    printf("%s\n", text);
    return rc || closed ? CLI_FAILED : CLI_DONE;
}

static int label(struct cli *c, const struct options *o)
{
    struct fis_error e;
    char user[64];
    struct labelling l = {
        .cli = c, .o = o, .annotator = o->annotator ? o->annotator : cli_user(user)};
    int code = CLI_FAILED;
    if (cli_open(c, &e))
        return cli_fail(&e);
    screen_progress_init(&l.progress, stderr, cli_now_ms());
    ask_init(&l.ask, c->schema.classes, c->schema.n_classes);
    int rc = o->answers ? answers_load(c, o->answers, &o->read, o->label, &l.answers, &e) : 0;
    if (!rc)
        rc = sender_open(&l.sender, c, &e);
    if (rc) {
        code = cli_fail(&e);
    } else {
        rc = read_labels(&l, &e);
        code = finish(&l, rc ? rc : serve(&l, &e), &e);
    }
    id_map_done(&l.answers);
    id_map_done(&l.answered);
    id_map_done(&l.mine);
    request_queue_done(&l.queue);
    byte_buffer_done(&l.value);
    return code;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {0};
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (o.annotator && strlen(o.annotator) > WIRE_ANNOTATOR)
        return cli_usage(self, "--annotator: found %zu bytes, at most %d allowed",
                         strlen(o.annotator), WIRE_ANNOTATOR);
    return label(c, &o);
}

static const struct command_option options[] = {
    {"answers", 'a', CLI_TEXT, offsetof(struct options, answers), "FILE",
     "answer from this CSV or JSON lines file (id and label)"},
    {"label", 'l', CLI_TEXT, offsetof(struct options, label), "COLUMN",
     "its column with the label; default initial.label, else \"label\""},
    CLI_READING_OPTIONS(struct options, read),
    {"annotator", 0, CLI_TEXT, offsetof(struct options, annotator), "NAME",
     "who answers; default the name of the user"},
    {"skip-unknown", 0, CLI_FLAG, offsetof(struct options, skip_unknown), NULL,
     "answer \"skipped\" for ids that are not in the file"},
    {"limit", 'n', CLI_COUNT, offsetof(struct options, limit), "N", "end after so many answers"},
    {"delay", 'd', CLI_MILLIS, offsetof(struct options, delay_ms), "MS",
     "wait before each answer, as a person would"},
    {"until-idle", 'i', CLI_SECONDS, offsetof(struct options, idle_ms), "SECONDS",
     "end when nothing was asked for so long"},
    {.name = NULL},
};

const struct cli_command cmd_label = {
    .name = "label",
    .arguments = "[--answers FILE] [options]",
    .summary = "answer label requests, from a file or at the terminal",
    .text =
        "Without --answers, shows each record whose label is requested and reads its class: the\n"
        "number or the name of a class, s to skip it (refunded to the budget), u for unknown,\n"
        "q to quit. The next fisctl label shows what was left.\n\n"
        "With --answers, answers requests from the file as they arrive, until it is interrupted\n"
        "or --limit or --until-idle ends it. Requests that are answered or withdrawn are passed\n"
        "over. Where several votes are required (labels.votes), each annotator answers once. The\n"
        "summary at the end counts what happened meanwhile.",
    .options = options,
    .run = run,
};
