#include "cli/last_pause.h"

#include <stdio.h>

#include "cli/screen.h"
#include "cli/topic_reader.h"
#include "wire/protobuf_codec.h"

enum { READ_MS = 5000, ROOM = 65536 };

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
    screen_clean(out);
}

static void take(const struct stream_message *m, struct fis_arena *arena, struct asking_pause *out)
{
    struct wire_message w = topic_reader_wire(m, "");
    struct wire_control c;
    struct fis_error none;
    fis_arena_reset(arena);
    if (wire_control_decode(&w, arena, &c, &none) != WIRE_OK || c.kind != WIRE_CONTROL_PAUSE)
        return;
    copy(out->by, sizeof out->by, c.by);
    copy(out->reason, sizeof out->reason, c.reason);
}

void last_pause_read(struct cli *c, struct asking_pause *out)
{
    const char *topic = c->cfg.topics.control;
    struct topic_reader r = {0};
    struct stream_message m;
    struct fis_error none;
    struct fis_arena arena = {.base = fis_alloc(1, ROOM), .size = ROOM};
    int64_t until = cli_now_ms() + READ_MS;
    *out = (struct asking_pause){0};
    int rc = arena.base ? topic_reader_open(&r, c, &topic, 1, &none) : -FIS_NOMEM;
    while (rc >= 0 && !r.ended && !cli_stopping(c) && cli_now_ms() < until)
        if ((rc = topic_reader_next(&r, 200, &m, &none)) > 0)
            take(&m, &arena, out);
    topic_reader_close(&r);
    fis_free(arena.base);
}
