#include <stdio.h>
#include <string.h>

#include "fis/mem.h"
#include "lab/engine_impl.h"

#define STEP_MS UINT64_C(10000) /* of the clock, while nothing happens */
#define IDLE_STEPS 4            /* so many steps without an event: there is nothing left */

void lab_engine_note_failure(struct lab_engine *g, int rc, const struct fis_error *e)
{
    if (rc < 0 && g->failed.kind == FIS_OK)
        g->failed = *e;
}

/* ---- the course ----------------------------------------------------------------------------- */

static void work(struct lab_engine *g)
{
    if (!g->job_due)
        return;
    g->job_due = false;
    g->moved = true;
    session_job(g->session);
    session_job_done(g->session);
}

static bool collects(const struct lab_engine *g)
{
    return strcmp(trainer_role_counts(session_role(g->session)).phase, "collect") == 0;
}

/* A job, and all that the session can do now; else the next records. */
static int turn(struct lab_engine *g, bool *moved, struct fis_error *e)
{
    bool more = true;
    g->moved = false;
    work(g);
    while (more && g->failed.kind == FIS_OK) {
        g->ends_asked = false;
        more = session_turn(g->session, g->now) || g->ends_asked;
    }
    *moved = g->moved || g->job_due;
    if (g->failed.kind == FIS_OK && !*moved && collects(g))
        *moved = lab_engine_read_batch(g);
    *e = g->failed;
    return -(int)g->failed.kind;
}

/* To the next answer, or a step. */
static void pass_time(struct lab_engine *g)
{
    uint64_t to = g->now.mono_ms + STEP_MS;
    if (g->r->o->delay)
        to = g->now.mono_ms + LAB_ENGINE_ROUND_MS / 8;
    if (g->answered < g->n_answers && g->answers[g->answered].at_ms < to)
        to = g->answers[g->answered].at_ms;
    g->now.wall_ms += (int64_t)(to - g->now.mono_ms);
    g->now.mono_ms = to;
}

static bool over(const struct lab_engine *g)
{
    const struct trainer_role *role = session_role(g->session);
    return !g->job_due && !trainer_role_busy(role) &&
           (!g->rounds || strcmp(trainer_role_counts(role).phase, "done") == 0);
}

int lab_engine_run(struct lab_engine *g, bool rounds, struct fis_error *e)
{
    int idle = 0, rc = 0;
    g->rounds = rounds && g->r->o->protocol.rounds > 0;
    while (rc == 0 && idle < IDLE_STEPS && !over(g)) {
        bool moved;
        rc = turn(g, &moved, e);
        idle = moved || g->answered < g->n_answers ? 0 : idle + 1;
        if (!moved)
            pass_time(g);
    }
    return rc;
}

/* ---- life ----------------------------------------------------------------------------------- */

static int make_columns(struct lab_engine *g, struct fis_error *e)
{
    const uint32_t d = g->r->split->d - g->r->split->margins;
    g->columns = fis_calloc(d, sizeof *g->columns);
    g->names = fis_calloc(d, sizeof *g->names);
    if (!g->columns || !g->names)
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u columns", d);
    for (uint32_t i = 0; i < d; i++) {
        snprintf(g->names[i], sizeof g->names[i], "f%u", i);
        g->columns[i] = (struct fis_column){g->names[i], FIS_NUMERIC, FIS_SCALE_NONE};
    }
    return 0;
}

struct lab_engine *lab_engine_new(struct lab_run *r, const struct trainer_role_options *o,
                                  struct fis_error *e)
{
    struct lab_engine *g = fis_calloc(1, sizeof *g);
    if (!g) {
        fis_fail(e, FIS_NOMEM, "run: no memory");
        return NULL;
    }
    g->r = r;
    g->criteria = o->selector.criteria;
    g->schema = (struct wire_schema){.classes = (const char *const *)r->split->task->classes,
                                     .n_classes = r->classes,
                                     .max_bytes = r->split->d * sizeof(float) + 1024};
    int rc = make_columns(g, e);
    if (rc == 0)
        rc = lab_engine_pool(g, e);
    if (rc == 0)
        rc = lab_engine_scorer(g, e);
    if (rc == 0)
        rc = lab_engine_session(g, o, e);
    if (rc < 0) {
        lab_engine_free(g);
        return NULL;
    }
    return g;
}

void lab_engine_free(struct lab_engine *g)
{
    if (!g)
        return;
    lab_engine_scorer_done(g);
    lab_engine_session_done(g);
    fis_free(g->columns);
    fis_free(g->names);
    fis_free(g->ids);
    fis_free(g);
}
