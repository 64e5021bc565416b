#include "kit/role/label_world.h"

struct fis_id world_id(const char *text)
{
    struct fis_id id = {0};
    assert_int_equal(fis_id_set(&id, text, strlen(text)), 0);
    return id;
}

void world_pass(struct label_world *w, uint64_t ms)
{
    w->now.mono_ms += ms;
    w->now.wall_ms += (int64_t)ms;
}

void world_asked(struct label_world *w, const char *id, uint32_t votes)
{
    struct wire_label_request r = {
        .id = world_id(id), .round = 1, .votes = votes, .requested_at_ms = w->now.wall_ms};
    assert_int_equal(
        label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){id, strlen(id)}, &w->e),
        0);
    world_pass(w, 1);
}

struct wire_label world_answer(const char *id, const char *who, int class_index)
{
    return (struct wire_label){
        .id = world_id(id),
        .annotator = who,
        .status = class_index == -1   ? WIRE_SKIPPED
                  : class_index == -2 ? WIRE_UNSURE
                                      : WIRE_LABELLED,
        .class_index = class_index < 0 ? 0 : (uint32_t)class_index,
    };
}

const char *world_next(struct label_world *w, const char *who, bool idle)
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

enum label_outcome world_give(struct label_world *w, const char *id, const char *who,
                              int class_index)
{
    struct wire_label l = world_answer(id, who, class_index);
    enum label_outcome what;
    uint64_t left;
    assert_int_equal(label_queue_answer(w->q, &l, w->now, &what, &left, &w->e), 0);
    assert_true(left == 0 || what == LABEL_HELD);
    return what;
}

enum label_outcome world_undo(struct label_world *w, const char *id, const char *who)
{
    struct fis_id of = world_id(id);
    enum label_outcome what;
    assert_int_equal(label_queue_undo(w->q, &of, who, w->now, &what, &w->e), 0);
    return what;
}

void world_on_topic(struct label_world *w, const char *id, const char *who, int class_index)
{
    struct wire_label l = world_answer(id, who, class_index);
    assert_int_equal(label_queue_label(w->q, &l, w->now.wall_ms, &w->e), 0);
}

const char *world_sent(struct label_world *w, uint64_t *token)
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

struct label_progress world_progress(struct label_world *w, const char *who)
{
    struct label_progress p;
    label_queue_progress(w->q, who, WORLD_WALL, w->now, &p);
    return p;
}

int world_set_up(void **state)
{
    static struct label_world w;
    w = (struct label_world){.now = {1000, WORLD_WALL}};
    w.q = label_queue_new(&(struct label_queue_options){WORLD_LEASE, WORLD_HOLD});
    *state = &w;
    return w.q ? 0 : -1;
}

int world_tear_down(void **state)
{
    label_queue_free(((struct label_world *)*state)->q);
    return 0;
}
