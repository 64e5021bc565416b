/*
 * fisctl watch: what is going on in a pipeline, a line an event or a live view.
 */
#include "cli/command_table.h"

#include <stdlib.h>
#include <string.h>

#include "cli/screen.h"
#include "cli/watch.h"

enum { LIVE_MS = 200, LINES_MS = 1000, TROUBLE_MS = 3000 };

struct options {
    const char *until;
    uint64_t timeout_ms, every_ms;
    bool plain;
};

struct watching {
    struct cli *cli;
    struct watch state;
    struct watch_goal goal;
    struct topic_reader reader;
    bool live, changed;
    int lines; /* of the view on the screen */
    int64_t start_ms, every_ms, next_ms, trouble_ms;
};

/* Draws over what was drawn before. */
static void draw(struct watching *w, int64_t now)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    watch_view(&w->state, now - w->start_ms, cli_wall_ms(), out);
    if (fclose(out) || !text)
        return;
    int columns = screen_columns(stdout), lines = 0;
    if (w->lines)
        printf("\033[%dA", w->lines);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        line[screen_cut(line, columns > 1 ? (size_t)columns - 1 : 79)] = 0;
        printf("\r%s\033[K\n", line);
        lines++;
    }
    /* A view that became shorter leaves no rest behind. */
    printf("\033[J");
    w->lines = lines;
    free(text);
    fflush(stdout);
}

static void show(struct watching *w, bool now_or_never)
{
    int64_t now = cli_now_ms();
    if (now < w->next_ms && !now_or_never)
        return;
    w->next_ms = now + w->every_ms;
    if (w->live)
        draw(w, now);
    else if (w->changed && w->reader.ended)
        watch_print_progress(&w->state, cli_wall_ms());
    w->changed = w->changed && !w->reader.ended;
    if (!w->live)
        fflush(stdout);
}

static int take(struct watching *w, const struct stream_message *m, struct fis_error *e)
{
    const struct wire_model *version = NULL;
    int event = watch_take(&w->state, m, &version, e);
    if (event < 0)
        return event;
    w->changed = w->changed || event != WATCH_NOTHING;
    if (!w->live && event == WATCH_NEW_VERSION)
        watch_print_version(version, w->reader.ended ? cli_wall_ms() : version->created_at_ms);
    else if (!w->live && event == WATCH_NEW_HEAD && w->reader.ended)
        watch_print_head(&w->state, cli_wall_ms());
    return 0;
}

static void say_trouble(struct watching *w)
{
    int64_t now = cli_now_ms();
    if (now < w->trouble_ms || w->reader.last.kind == FIS_OK)
        return;
    w->trouble_ms = now + 10 * TROUBLE_MS;
    cli_say("%s", w->reader.last.text);
    w->lines = 0;
}

/* 0: interrupted, or the goal is reached. */
static int follow(struct watching *w, uint64_t timeout_ms, const char *until, struct fis_error *e)
{
    struct stream_message m;
    bool ended = false;
    while (!cli_stopping(w->cli)) {
        int rc = topic_reader_next(&w->reader, w->live ? LIVE_MS / 2 : 200, &m, e);
        if (rc > 0)
            rc = take(w, &m, e);
        if (rc < 0)
            return rc;
        int64_t now = cli_now_ms();
        /* What lay on the topics at the start is no rate. */
        watch_tick(&w->state, now, w->reader.ended != ended || !w->reader.ended);
        ended = w->reader.ended;
        show(w, false);
        say_trouble(w);
        if ((ended || w->goal.kind != WATCH_OPEN) && watch_reached(&w->state, &w->goal))
            return 0;
        if (timeout_ms && now - w->start_ms >= (int64_t)timeout_ms)
            return fis_fail(e, FIS_RETRY, "%s was not reached within %.3g s",
                            until ? until : "the end", (double)timeout_ms / 1000);
    }
    return 0;
}

static int watch(struct cli *c, const struct options *o, const struct watch_goal *goal)
{
    struct fis_error e;
    struct watching w = {.cli = c, .goal = *goal};
    if (cli_open(c, &e))
        return cli_fail(&e);
    const struct config_topics *t = &c->cfg.topics;
    const char *const topics[WATCH_TOPICS] = {t->candidates, t->heads,  t->label_requests,
                                              t->labels,     t->models, t->ledger};
    if (goal->kind == WATCH_DONE && !c->cfg.selection.rounds && !c->cfg.selection.budget) {
        cli_say("--until done: neither selection.rounds nor selection.budget sets an end");
        return CLI_USAGE;
    }
    w.live = !o->plain && screen_columns(stdout) > 0;
    w.start_ms = cli_now_ms();
    w.trouble_ms = w.start_ms + TROUBLE_MS;
    w.every_ms = o->every_ms ? (int64_t)o->every_ms : w.live ? LIVE_MS : LINES_MS;
    w.next_ms = w.start_ms + w.every_ms;
    int rc = watch_init(&w.state, c, &e);
    if (!rc)
        rc = topic_reader_open(&w.reader, c, topics, WATCH_TOPICS, &e);
    if (!rc) {
        rc = follow(&w, o->timeout_ms, o->until, &e);
        show(&w, true);
    }
    bool reached = !rc && watch_reached(&w.state, goal);
    topic_reader_close(&w.reader);
    watch_done(&w.state);
    if (rc)
        return cli_fail(&e);
    return reached || goal->kind == WATCH_FOREVER ? CLI_DONE : CLI_FAILED;
}

static int run(struct cli *c, const struct cli_command *self, int argc, char **argv)
{
    struct options o = {0};
    struct watch_goal goal = {WATCH_FOREVER, 0};
    enum cli_parsed parsed = cli_parse_options(c, self, argc, argv, &o);
    if (parsed != CLI_GO)
        return cli_parsed_exit(parsed);
    if (o.until && watch_goal_read(o.until, &goal))
        return cli_usage(
            self, "--until: found '%s', allowed done, versions=N, version=N, round=N, open=N",
            o.until);
    return watch(c, &o, &goal);
}

static const struct command_option options[] = {
    {"until", 'u', CLI_TEXT, offsetof(struct options, until), "GOAL",
     "end with exit code 0 at: done, versions=N, version=N, round=N, open=N"},
    {"timeout", 't', CLI_SECONDS, offsetof(struct options, timeout_ms), "SECONDS",
     "end with exit code 1 after that time"},
    {"every", 'e', CLI_SECONDS, offsetof(struct options, every_ms), "SECONDS",
     "how often progress is shown; default 1, live 0.2"},
    {"plain", 'p', CLI_FLAG, offsetof(struct options, plain), NULL,
     "lines on a terminal too, no live view"},
    {.name = NULL},
};

const struct cli_command cmd_watch = {
    .name = "watch",
    .arguments = "[options]",
    .summary = "the pipeline live: a view that is updated, or a line per event",
    .text =
        "On a terminal, a live view: records scored, candidates, labels requested and open, the\n"
        "head, the served and the newest version. Elsewhere a line per event, key=value: every\n"
        "version from the first, then heads and progress as they arrive.\n\n"
        "Goals of --until: versions=N, N versions (served or rejected) exist; version=N, version\n"
        "N exists; round=N, round N has ended; open=N, N label requests are open; done,\n"
        "selection.rounds or selection.budget of the configuration is used up. Interrupted\n"
        "before: exit code 1.",
    .options = options,
    .run = run,
};
