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

/* `wanted`: RD_KAFKA_OFFSET_BEGINNING or _END, which the protocol takes in the place of a time. */
static rd_kafka_resp_err_t find(rd_kafka_t *rk, const char *topic, int32_t partition,
                                int64_t wanted, int timeout_ms, int64_t *out)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *p = rd_kafka_topic_partition_list_add(list, topic, partition);
    p->offset = wanted;
    rd_kafka_resp_err_t err = rd_kafka_offsets_for_times(rk, list, timeout_ms);
    err = err ? err : p->err;
    if (!err && p->offset < 0) {
        err = RD_KAFKA_RESP_ERR__TIMED_OUT; /* no answer, and no word of it */
    }
    if (!err) {
        *out = p->offset;
    }
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

rd_kafka_resp_err_t stream_ends_find(rd_kafka_t *rk, const char *topic, int32_t partition,
                                     int timeout_ms, int64_t *low, int64_t *high)
{
    rd_kafka_resp_err_t err =
        find(rk, topic, partition, RD_KAFKA_OFFSET_BEGINNING, timeout_ms, low);
    return err ? err : find(rk, topic, partition, RD_KAFKA_OFFSET_END, timeout_ms, high);
}

/* Until it is answered: a leader that is away comes back, a topic may be made anew. */
static bool ask(struct stream_ends *s, struct stream_range *r)
{
    for (;;) {
        const char *topic = s->topics[r->topic];
        rd_kafka_resp_err_t err = stream_ends_find(s->rk, topic, r->partition,
                                                   STREAM_HELPER_ASK_MS, &r->low, &r->high);
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
