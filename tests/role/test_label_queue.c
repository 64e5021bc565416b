/* Who is shown which record, and what becomes of answers: leases, votes, undo, restarts. */
#include "role/label_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/rng.h"
#include "kit/base/oom.h"
#include "kit/cmocka.h"

#define LEASE 60000
#define HOLD 5000
#define WALL INT64_C(1800000000000)

struct world {
    struct label_queue *q;
    struct trainer_time now;
    struct fis_error e;
};

static struct fis_id id_of(const char *text)
{
    struct fis_id id = {0};
    assert_int_equal(fis_id_set(&id, text, strlen(text)), 0);
    return id;
}

static void pass(struct world *w, uint64_t ms)
{
    w->now.mono_ms += ms;
    w->now.wall_ms += (int64_t)ms;
}

static void asked(struct world *w, const char *id, uint32_t votes)
{
    struct wire_label_request r = {
        .id = id_of(id), .round = 1, .votes = votes, .requested_at_ms = w->now.wall_ms};
    assert_int_equal(
        label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){id, strlen(id)}, &w->e),
        0);
    pass(w, 1);
}

static void withdrawn(struct world *w, const char *id, const char *reason)
{
    struct wire_label_request r = {.id = id_of(id), .cancelled = true, .reason = reason};
    assert_int_equal(label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){0}, &w->e),
                     0);
}

static struct wire_label answer(const char *id, const char *who, int class_index)
{
    return (struct wire_label){
        .id = id_of(id),
        .annotator = who,
        .status = class_index == -1   ? WIRE_SKIPPED
                  : class_index == -2 ? WIRE_UNSURE
                                      : WIRE_LABELLED,
        .class_index = class_index < 0 ? 0 : (uint32_t)class_index,
    };
}

/* "" or a word for what is not a record, else its id. */
static const char *next(struct world *w, const char *who, bool idle)
{
    static char text[FIS_ID_MAX + 1];
    enum label_next what;
    struct label_task t;
    assert_int_equal(label_queue_next(w->q, who, idle, w->now, &what, &t, &w->e), 0);
    if (what != LABEL_TASK)
        return what == LABEL_LAPSED ? "lapsed" : what == LABEL_NONE_OPEN ? "none" : "others";
    snprintf(text, sizeof text, "%.*s", (int)t.id->length, t.id->bytes);
    assert_int_equal(t.payload.length, strlen(text));
    assert_memory_equal(t.payload.data, text, strlen(text));
    return text;
}

static enum label_outcome give(struct world *w, const char *id, const char *who, int class_index)
{
    struct wire_label l = answer(id, who, class_index);
    enum label_outcome what;
    uint64_t left;
    assert_int_equal(label_queue_answer(w->q, &l, w->now, &what, &left, &w->e), 0);
    assert_true(left == 0 || what == LABEL_HELD);
    return what;
}

static enum label_outcome undo(struct world *w, const char *id, const char *who)
{
    struct fis_id of = id_of(id);
    enum label_outcome what;
    assert_int_equal(label_queue_undo(w->q, &of, who, w->now, &what, &w->e), 0);
    return what;
}

static void on_topic(struct world *w, const char *id, const char *who, int class_index)
{
    struct wire_label l = answer(id, who, class_index);
    assert_int_equal(label_queue_label(w->q, &l, w->now.wall_ms, &w->e), 0);
}

/* The next one that is due: "id annotator class". */
static const char *sent(struct world *w, uint64_t *token)
{
    static char text[600];
    struct wire_label l;
    if (!label_queue_send(w->q, false, w->now, &l, token))
        return "";
    snprintf(text, sizeof text, "%.*s %s %d", (int)l.id.length, l.id.bytes, l.annotator,
             l.status == WIRE_SKIPPED  ? -1
             : l.status == WIRE_UNSURE ? -2
                                       : (int)l.class_index);
    return text;
}

static struct label_progress progress(struct world *w, const char *who)
{
    struct label_progress p;
    label_queue_progress(w->q, who, WALL, w->now, &p);
    return p;
}

static int setup(void **state)
{
    static struct world w;
    w = (struct world){.now = {1000, WALL}};
    w.q = label_queue_new(&(struct label_queue_options){LEASE, HOLD});
    *state = &w;
    return w.q ? 0 : -1;
}

static int teardown(void **state)
{
    label_queue_free(((struct world *)*state)->q);
    return 0;
}

/* ---- who is shown what ------------------------------------------------------------------------
 */

static void oldest_first_and_nobody_the_same(void **state)
{
    struct world *w = *state;
    assert_string_equal(next(w, "ann", false), "none");
    asked(w, "b", 1);
    asked(w, "a", 1);
    assert_string_equal(next(w, "ann", false), "b");
    assert_string_equal(next(w, "ann", false), "b"); /* a page that is loaded again */
    assert_string_equal(next(w, "bob", false), "a");
    assert_string_equal(next(w, "cid", false), "others");
    struct label_progress p = progress(w, "cid");
    assert_int_equal(p.open, 2);
    assert_int_equal(p.mine, 0);
    assert_int_equal(p.others, 2);
    assert_int_equal(progress(w, "ann").mine, 1);
}

static void leases_end(void **state)
{
    struct world *w = *state;
    asked(w, "a", 1);
    assert_string_equal(next(w, "ann", false), "a");
    pass(w, LEASE - 1);
    assert_string_equal(next(w, "ann", true), "a"); /* idle: it is not extended */
    assert_string_equal(next(w, "bob", false), "others");
    pass(w, 2);
    assert_string_equal(next(w, "ann", true), "lapsed");
    assert_string_equal(next(w, "ann", false), "a"); /* back, and nobody has taken it */
    pass(w, LEASE + 1);
    assert_string_equal(next(w, "bob", false), "a");
    assert_string_equal(next(w, "ann", false), "others");
    assert_string_equal(next(w, "ann", true), "lapsed");
    assert_int_equal(give(w, "a", "ann", 1),
                     LABEL_HELD); /* the answer is a good one all the same */
    assert_int_equal(give(w, "a", "bob", 1), LABEL_DECIDED);
}

static void deadline(void **state)
{
    struct world *w = *state;
    struct wire_label_request r = {
        .id = id_of("a"), .votes = 1, .requested_at_ms = WALL, .deadline_ms = WALL + 1000};
    assert_int_equal(label_queue_request(w->q, &r, WALL, (struct wire_bytes){"a", 1}, &w->e), 0);
    pass(w, 2000);
    assert_string_equal(next(w, "ann", false), "others");
    assert_int_equal(progress(w, "ann").open, 0);
    w->now.wall_ms = WALL; /* a clock that had jumped: nothing is lost */
    assert_string_equal(next(w, "ann", false), "a");
}

/* ---- votes ------------------------------------------------------------------------------------
 */

static void three_votes_three_people(void **state)
{
    struct world *w = *state;
    asked(w, "a", 3);
    asked(w, "b", 1);
    assert_string_equal(next(w, "ann", false), "a");
    assert_string_equal(next(w, "bob", false), "a");
    assert_string_equal(next(w, "cid", false), "a");
    assert_string_equal(next(w, "dan", false), "b");
    assert_int_equal(give(w, "a", "ann", 1), LABEL_HELD);
    assert_string_equal(next(w, "ann", false), "others"); /* never twice to one */
    assert_int_equal(give(w, "a", "bob", -1), LABEL_HELD);
    assert_int_equal(give(w, "a", "cid", 0), LABEL_HELD);
    assert_int_equal(give(w, "a", "dan", 0), LABEL_DECIDED);
    assert_string_equal(next(w, "cid", false), "others");
    assert_int_equal(progress(w, "cid").open, 1);
    asked(w, "c", 2); /* an answer takes one place, and not its lease another */
    assert_string_equal(next(w, "ann", false), "c");
    assert_int_equal(give(w, "c", "ann", 1), LABEL_HELD);
    assert_string_equal(next(w, "bob", false), "c");
}

static void a_vote_has_a_name(void **state)
{
    struct world *w = *state;
    asked(w, "a", 2);
    on_topic(w, "a", "", 1); /* refused by the trainer: it is nobody's */
    on_topic(w, "a", "ann", 1);
    on_topic(w, "a", "ann", 1);
    assert_string_equal(next(w, "ann", false), "others");
    assert_string_equal(next(w, "bob", false), "a");
    on_topic(w, "a", "cid", 0); /* by another tool, meanwhile */
    assert_string_equal(next(w, "bob", true), "lapsed");
    assert_string_equal(next(w, "bob", false), "none");
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static void held_changed_and_taken_back(void **state)
{
    struct world *w = *state;
    uint64_t token;
    asked(w, "a", 1);
    asked(w, "b", 1);
    assert_string_equal(next(w, "ann", false), "a");
    assert_int_equal(give(w, "a", "ann", 1), LABEL_HELD);
    assert_string_equal(next(w, "ann", false), "b");
    assert_int_equal(progress(w, "ann").done, 1);
    assert_int_equal(undo(w, "a", "bob"), LABEL_UNKNOWN);
    assert_int_equal(undo(w, "a", "ann"), LABEL_HELD);
    assert_int_equal(progress(w, "ann").done, 0);
    assert_string_equal(next(w, "ann", false), "a"); /* what was taken back comes first */
    assert_string_equal(next(w, "bob", false), "others");
    assert_int_equal(give(w, "a", "ann", 0), LABEL_HELD);
    assert_int_equal(give(w, "a", "ann", 1), LABEL_HELD); /* changed */
    assert_int_equal(give(w, "a", "ann", 0), LABEL_HELD);
    pass(w, HOLD - 1);
    assert_string_equal(sent(w, &token), "");
    pass(w, 1);
    assert_string_equal(sent(w, &token), "a ann 0");
    assert_string_equal(sent(w, &token), "");
    assert_int_equal(give(w, "a", "ann", 0), LABEL_SENDING);
    assert_int_equal(undo(w, "a", "ann"), LABEL_SENDING);
    assert_int_equal(give(w, "a", "ann", 1), LABEL_CONTRADICTS);
    label_queue_sent(w->q, token, true, false);
    assert_int_equal(give(w, "a", "ann", 0), LABEL_RECORDED);
    assert_int_equal(give(w, "a", "ann", 1), LABEL_CONTRADICTS);
    assert_int_equal(give(w, "a", "bob", 1), LABEL_DECIDED);
    assert_int_equal(give(w, "x", "ann", 1), LABEL_UNKNOWN);
    assert_int_equal(label_queue_pending(w->q), 0);
    assert_string_equal(next(w, "ann", false), "b");
}

/* As the protocol allows: a label after skipped and unsure, and not the other way. */
static void a_label_after_a_skip(void **state)
{
    struct world *w = *state;
    uint64_t token, second;
    asked(w, "a", 1);
    assert_int_equal(give(w, "a", "ann", -1), LABEL_HELD);
    pass(w, HOLD);
    assert_string_equal(sent(w, &token), "a ann -1");
    assert_int_equal(give(w, "a", "ann", 1), LABEL_HELD); /* while the skip is under way */
    pass(w, HOLD);
    assert_string_equal(sent(w, &second), "a ann 1");
    label_queue_sent(w->q, token, true, false); /* the skip's report is of no answer now */
    assert_int_equal(give(w, "a", "ann", 1), LABEL_SENDING);
    label_queue_sent(w->q, second, true, false);
    assert_int_equal(give(w, "a", "ann", 1), LABEL_RECORDED);
    assert_int_equal(give(w, "a", "ann", -2), LABEL_CONTRADICTS);
    assert_int_equal(progress(w, "ann").done, 1);
}

static void kafka_refuses_or_is_away(void **state)
{
    struct world *w = *state;
    uint64_t token;
    asked(w, "a", 1);
    assert_int_equal(give(w, "a", "ann", 1), LABEL_HELD);
    pass(w, HOLD);
    assert_string_equal(sent(w, &token), "a ann 1");
    label_queue_sent(w->q, token, false, true);
    assert_int_equal(label_queue_pending(w->q), 1);
    assert_string_equal(next(w, "bob", false), "none");
    assert_string_equal(sent(w, &token), "a ann 1");
    label_queue_sent(w->q, token, false, false);
    assert_int_equal(label_queue_pending(w->q), 0);
    assert_string_equal(next(w, "bob", false), "a"); /* nobody has answered it */
}

/* The end of the process: what is held goes out at once. */
static void all_at_the_end(void **state)
{
    struct world *w = *state;
    struct wire_label l;
    uint64_t token;
    asked(w, "a", 1);
    asked(w, "b", 1);
    give(w, "a", "ann", 1);
    give(w, "b", "bob", 0);
    assert_true(label_queue_send(w->q, true, w->now, &l, &token));
    assert_true(label_queue_send(w->q, true, w->now, &l, &token));
    assert_false(label_queue_send(w->q, true, w->now, &l, &token));
    assert_int_equal(label_queue_pending(w->q), 2);
}

/* ---- what the topics say ----------------------------------------------------------------------
 */

static void withdrawals(void **state)
{
    struct world *w = *state;
    uint64_t token;
    asked(w, "a", 1);
    asked(w, "b", 3);
    assert_string_equal(next(w, "ann", false), "a");
    withdrawn(w, "a", "expired");
    assert_string_equal(next(w, "ann", true), "lapsed");
    assert_string_equal(next(w, "ann", false), "b");
    assert_int_equal(give(w, "a", "ann", 1), LABEL_HELD); /* late answers are used */
    withdrawn(w, "b", "decided");
    assert_int_equal(give(w, "b", "ann", 1), LABEL_DECIDED);
    pass(w, HOLD);
    assert_string_equal(sent(w, &token), "a ann 1");
    asked(w, "c", 1);
    give(w, "c", "ann", 1);
    withdrawn(w, "c", "cancelled");
    assert_int_equal(undo(w, "c", "ann"), LABEL_HELD);
    assert_string_equal(next(w, "ann", false), "none");
    withdrawn(w, "never-seen", "expired");
    assert_string_equal(next(w, "ann", false), "none");
}

/* A restart reads both topics: what is answered is not shown, what is not is. */
static void as_after_a_restart(void **state)
{
    struct world *w = *state;
    on_topic(w, "b", "ann", 1); /* before its request, which is read beside it */
    asked(w, "a", 1);
    asked(w, "b", 1);
    asked(w, "c", 2);
    on_topic(w, "c", "ann", 0);
    assert_string_equal(next(w, "ann", false), "a");
    assert_string_equal(next(w, "bob", false), "c");
    assert_int_equal(progress(w, "ann").done, 2);
    assert_int_equal(give(w, "b", "ann", 1), LABEL_RECORDED); /* whose page repeats it */
}

/* A label that nobody had asked for is refused by the trainer: the request stays open. */
static void too_early(void **state)
{
    struct world *w = *state;
    on_topic(w, "a", "ann", 1);
    on_topic(w, "b", "ann", 1);
    pass(w, 3600 * 1000);
    asked(w, "a", 1);
    asked(w, "b", 2);
    assert_string_equal(next(w, "ann", false), "a");
    assert_int_equal(give(w, "a", "ann", 0), LABEL_HELD);
    assert_string_equal(next(w, "ann", false), "b");
    assert_int_equal(give(w, "b", "ann", 0), LABEL_HELD);
    assert_int_equal(give(w, "b", "bob", 0), LABEL_HELD);
    assert_int_equal(progress(w, "ann").done, 2);
}

/* The operator has open requests sent again: what was answered before did not arrive. Votes are
 * kept: the trainer counts them, and the same people are not asked again. */
static void sent_again(void **state)
{
    struct world *w = *state;
    asked(w, "a", 1);
    asked(w, "b", 2);
    on_topic(w, "a", "ann", 1);
    on_topic(w, "b", "ann", 1);
    assert_string_equal(next(w, "ann", false), "others");
    pass(w, 30000); /* answers of the last minute may be under way */
    struct wire_label_request r = {.id = id_of("a"), .votes = 1, .requested_at_ms = WALL};
    assert_int_equal(
        label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){"a", 1}, &w->e), 0);
    assert_string_equal(next(w, "ann", false), "others");
    pass(w, 60000);
    assert_int_equal(
        label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){"a", 1}, &w->e), 0);
    r = (struct wire_label_request){.id = id_of("b"), .votes = 2, .requested_at_ms = WALL};
    assert_int_equal(
        label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){"b", 1}, &w->e), 0);
    assert_string_equal(next(w, "ann", false), "a");
    give(w, "a", "ann", 1);
    assert_string_equal(next(w, "ann", false), "others");
    assert_string_equal(next(w, "bob", false), "b");
}

static void another_tool_is_quicker(void **state)
{
    struct world *w = *state;
    uint64_t token;
    asked(w, "a", 1);
    asked(w, "b", 1);
    give(w, "a", "ann", 1);
    on_topic(w, "a", "zoe", 0);
    assert_int_equal(give(w, "a", "ann", 1), LABEL_DECIDED);
    pass(w, HOLD);
    assert_string_equal(sent(w, &token), "");
    give(w, "b", "ann", 1); /* its own label is read before the report comes */
    pass(w, HOLD);
    assert_string_equal(sent(w, &token), "b ann 1");
    on_topic(w, "b", "ann", 1);
    assert_int_equal(give(w, "b", "ann", 1), LABEL_RECORDED);
    label_queue_sent(w->q, token, true, false);
    assert_int_equal(label_queue_pending(w->q), 0);
}

static void agreement(void **state)
{
    struct world *w = *state;
    uint64_t token;
    asked(w, "a", 2);
    asked(w, "b", 2);
    on_topic(w, "a", "ann", 1);
    on_topic(w, "b", "ann", 0);
    give(w, "a", "bob", 1);
    give(w, "b", "bob", -1);
    assert_int_equal(label_queue_agreement(w->q)->records, 0); /* not recorded yet */
    pass(w, HOLD);
    while (*sent(w, &token))
        label_queue_sent(w->q, token, true, false);
    assert_int_equal(label_queue_agreement(w->q)->records, 1);
    give(w, "b", "bob", 0); /* after the skip */
    pass(w, HOLD);
    sent(w, &token);
    label_queue_sent(w->q, token, true, false);
    assert_int_equal(label_queue_agreement(w->q)->records, 2);
    assert_true(agreement_alpha(label_queue_agreement(w->q)) == 1);
}

/* ---- all of it at random -----------------------------------------------------------------------
 */

/* Many people, and a broker that is away now and then: nobody is shown what they have answered, a
 * request has no more live leases than places, and every answer is sent once. */
#define PEOPLE 6
#define RECORDS 40
struct truth {
    uint32_t votes[RECORDS], recorded[RECORDS];
    bool answered[RECORDS][PEOPLE], sent[RECORDS][PEOPLE];
    int shown_to[PEOPLE]; /* -1: nothing */
    uint64_t shown_ms[PEOPLE];
};

static void hand_out(struct world *w, struct truth *t, int p)
{
    static const char *const names[] = {"p0", "p1", "p2", "p3", "p4", "p5"};
    const char *text = next(w, names[p], false);
    t->shown_to[p] = *text == 'r' ? atoi(text + 1) : -1;
    t->shown_ms[p] = w->now.mono_ms;
    if (t->shown_to[p] < 0)
        return;
    int r = t->shown_to[p];
    uint32_t live = t->recorded[r];
    assert_false(t->answered[r][p]);
    for (int o = 0; o < PEOPLE; o++)
        live += t->shown_to[o] == r && w->now.mono_ms - t->shown_ms[o] < LEASE;
    assert_true(live <= t->votes[r]);
}

static void deliver(struct world *w, struct truth *t, struct fis_rng *rng)
{
    uint64_t token;
    const char *text;
    while (*(text = sent(w, &token))) {
        int r = atoi(text + 1), p = strchr(text, ' ')[2] - '0';
        bool ok = fis_rng_unit(rng) < .8;
        assert_true(t->answered[r][p]); /* not what was taken back */
        assert_false(ok && t->sent[r][p]);
        t->sent[r][p] |= ok;
        label_queue_sent(w->q, token, ok, true);
        if (!ok)
            return; /* it is due at once: later */
    }
}

static void at_random(void **state)
{
    struct world *w = *state;
    static const char *const names[] = {"p0", "p1", "p2", "p3", "p4", "p5"};
    struct truth t = {0};
    struct fis_rng rng;
    char id[16];
    fis_rng_seed(&rng, 7, 0);
    for (int p = 0; p < PEOPLE; p++)
        t.shown_to[p] = -1;
    for (int r = 0; r < RECORDS; r++) {
        t.votes[r] = 1 + (uint32_t)r % 3;
        snprintf(id, sizeof id, "r%d", r);
        asked(w, id, t.votes[r]);
    }
    for (int step = 0; step < 20000; step++) {
        int p = (int)(fis_rng_unit(&rng) * PEOPLE);
        pass(w, (uint64_t)(fis_rng_unit(&rng) * 900));
        hand_out(w, &t, p);
        int r = t.shown_to[p];
        if (r >= 0 && fis_rng_unit(&rng) < .5) {
            snprintf(id, sizeof id, "r%d", r);
            assert_int_equal(give(w, id, names[p], r % 2), LABEL_HELD);
            t.answered[r][p] = true;
            t.recorded[r]++;
            t.shown_to[p] = -1;
            if (fis_rng_unit(&rng) < .2) {
                assert_int_equal(undo(w, id, names[p]), LABEL_HELD);
                t.answered[r][p] = false;
                t.recorded[r]--;
                t.shown_to[p] = r;
                t.shown_ms[p] = w->now.mono_ms;
            }
        }
        deliver(w, &t, &rng);
    }
    for (int r = 0; r < RECORDS; r++) {
        uint32_t arrived = 0;
        for (int p = 0; p < PEOPLE; p++)
            arrived += t.sent[r][p];
        assert_int_equal(arrived, t.votes[r]);
    }
    assert_int_equal(label_queue_pending(w->q), 0);
    assert_string_equal(next(w, "p0", false), "none");
}

/* ---- no memory --------------------------------------------------------------------------------
 */

static int scenario(void *arg, struct fis_error *e)
{
    struct label_queue *q = label_queue_new(&(struct label_queue_options){LEASE, HOLD});
    struct wire_label_request r = {.id = id_of("a"), .votes = 1, .requested_at_ms = WALL};
    struct wire_label l = answer("a", "ann", 1), other = answer("b", "zoe", 1), out;
    struct trainer_time now = {1000, WALL};
    enum label_next what;
    enum label_outcome outcome;
    struct label_task task;
    uint64_t left, token;
    int rc = q ? 0 : fis_fail(e, FIS_NOMEM, "no queue");
    (void)arg;
    if (!rc)
        rc = label_queue_label(q, &other, WALL, e);
    if (!rc)
        rc = label_queue_request(q, &r, WALL, (struct wire_bytes){"x", 1}, e);
    if (!rc)
        rc = label_queue_next(q, "ann", false, now, &what, &task, e);
    if (!rc)
        rc = label_queue_answer(q, &l, now, &outcome, &left, e);
    if (!rc)
        rc = label_queue_undo(q, &l.id, "ann", now, &outcome, e);
    if (!rc)
        rc = label_queue_answer(q, &l, now, &outcome, &left, e);
    if (!rc && label_queue_send(q, true, now, &out, &token))
        label_queue_sent(q, token, true, false);
    if (!rc)
        assert_int_equal(label_queue_pending(q), 0);
    label_queue_free(q);
    return rc;
}

static void no_memory(void **state)
{
    (void)state;
    assert_true(oom_run(scenario, NULL) > 8);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(oldest_first_and_nobody_the_same),
        T(leases_end),
        T(deadline),
        T(three_votes_three_people),
        T(a_vote_has_a_name),
        T(held_changed_and_taken_back),
        T(a_label_after_a_skip),
        T(kafka_refuses_or_is_away),
        T(all_at_the_end),
        T(withdrawals),
        T(as_after_a_restart),
        T(too_early),
        T(sent_again),
        T(another_tool_is_quicker),
        T(agreement),
        T(at_random),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("role/label_queue", tests, NULL, NULL);
}
