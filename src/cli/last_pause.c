#include "cli/last_pause.h"

#include <stdio.h>

#include "cli/screen.h"
#include "cli/topic_reader.h"
#include "wire/protobuf_codec.h"

enum { ROOM = 65536 };

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
    screen_clean(out);
}

struct reading {
    struct asking_pause *out;
    struct fis_arena arena;
};

static int take(void *arg, const struct stream_message *m, struct fis_error *e)
{
    struct reading *r = arg;
    const struct wire_message w = binding_message(m, "");
    struct wire_control c;
    fis_arena_reset(&r->arena);
    if (wire_control_decode(&w, &r->arena, &c, e) != WIRE_OK || c.kind != WIRE_CONTROL_PAUSE)
        return 0;
    copy(r->out->by, sizeof r->out->by, c.by);
    copy(r->out->reason, sizeof r->out->reason, c.reason);
    return 0;
}

void last_pause_read(struct cli *c, struct asking_pause *out)
{
    struct fis_error none;
    struct reading r = {.out = out, .arena = {.base = fis_alloc(1, ROOM), .size = ROOM}};
    *out = (struct asking_pause){0};
    if (r.arena.base && topic_reader_all(c, c->cfg.topics.control, take, &r, &none))
        *out = (struct asking_pause){0};
    fis_free(r.arena.base);
}
