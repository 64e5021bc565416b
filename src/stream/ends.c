#include "stream/ends.h"

#include <stdio.h>

#include "fis/mem.h"

bool stream_ends_init(struct stream_ends *s, rd_kafka_t *rk, const struct stream_link *link,
                      char *const *topics)
{
    s->rk = rk;
    s->topics = topics;
    return stream_helper_init(&s->helper, link);
}

void stream_ends_stop(struct stream_ends *s)
{
    stream_helper_stop(&s->helper);
}

void stream_ends_done(struct stream_ends *s)
{
    stream_helper_done(&s->helper);
    fis_free(s->list);
}

struct stream_range *stream_ends_room(struct stream_ends *s, uint32_t count)
{
    if (count > s->room) {
        struct stream_range *list = fis_grow(s->list, 0, count, sizeof *list);
        if (!list) {
            return NULL;
        }
        s->list = list;
        s->room = count;
    }
    return s->list;
}

/* Until it is answered: a leader that is away comes back, a topic may be made anew. */
static bool ask(struct stream_ends *s, struct stream_range *r)
{
    for (;;) {
        const char *topic = s->topics[r->topic];
        rd_kafka_resp_err_t err = rd_kafka_query_watermark_offsets(
            s->rk, topic, r->partition, &r->low, &r->high, STREAM_HELPER_ASK_MS);
        if (!err) {
            return true;
        }
        char text[FIS_ERROR_TEXT];
        snprintf(text, sizeof text,
                 "kafka topic \"%s\" partition %d: where it begins and ends cannot be asked: %s; "
                 "trying again",
                 topic, (int)r->partition, rd_kafka_err2str(err));
        stream_helper_say(&s->helper, (uint64_t)(err + 1000) << 32 | r->topic, text);
        if (stream_helper_pause(&s->helper)) {
            return false;
        }
    }
}

static void *ask_all(void *arg)
{
    struct stream_ends *s = arg;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!ask(s, &s->list[i])) {
            return NULL;
        }
    }
    stream_helper_finish(&s->helper);
    return NULL;
}

bool stream_ends_ask(struct stream_ends *s, uint32_t count)
{
    s->count = count;
    return stream_helper_start(&s->helper, ask_all, s);
}
