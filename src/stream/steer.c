/* What a consumer's owner does besides reading: pause a partition, go back, commit, ask. */
#include <stdlib.h>
#include <string.h>

#include "stream/consumer_impl.h"

const struct stream_partition *stream_consumer_owned(const struct stream_consumer *c, size_t *count)
{
    *count = c->owned_count;
    return c->owned;
}

int stream_consumer_commit(struct stream_consumer *c, const struct stream_offset *offsets,
                           size_t count, struct fis_error *e)
{
    if (count == 0)
        return 0;
    rd_kafka_topic_partition_list_t *list = stream_offsets_list(offsets, count);
    rd_kafka_resp_err_t err = rd_kafka_commit(c->rk, list, 1);
    rd_kafka_topic_partition_list_destroy(list);
    if (err) {
        return fis_fail(e, err == RD_KAFKA_RESP_ERR__FATAL ? FIS_FATAL : FIS_RETRY,
                        "kafka consumer: commit: %s", rd_kafka_err2str(err));
    }
    return 0;
}

int stream_consumer_mark(struct stream_consumer *c, const char *topic, int32_t partition,
                         int timeout_ms, uint64_t *mark, struct fis_error *e)
{
    static const char name[] = STREAM_MARK;
    char text[32] = "";
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    const rd_kafka_topic_partition_t *p = rd_kafka_topic_partition_list_add(list, topic, partition);
    rd_kafka_resp_err_t err = rd_kafka_committed(c->rk, list, timeout_ms);
    err = err ? err : p->err;
    if (!err && p->metadata && p->metadata_size < sizeof text)
        memcpy(text, p->metadata, p->metadata_size);
    bool marked = strncmp(text, name, sizeof name - 1) == 0;
    *mark = marked ? strtoull(text + sizeof name - 1, NULL, 10) : 0;
    rd_kafka_topic_partition_list_destroy(list);
    return err ? fis_fail(e, FIS_RETRY, "kafka consumer: the group's committed offsets on %s: %s",
                          topic, rd_kafka_err2str(err))
               : 0;
}

static int64_t lag_of(const struct stream_consumer *c, uint32_t i)
{
    int64_t low, high, next = c->positions[i].next;
    const struct stream_partition *p = &c->owned[i];
    if (next < 0 ||
        rd_kafka_get_watermark_offsets(c->rk, c->topics[p->topic], p->partition, &low, &high) ||
        high < 0)
        return -1;
    return high > next ? high - next : 0;
}

int64_t stream_consumer_lag(const struct stream_consumer *c)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < c->owned_count; i++) {
        int64_t lag = lag_of(c, i);
        if (lag < 0)
            return -1;
        sum += lag;
    }
    return sum;
}

uint32_t stream_consumer_places(const struct stream_consumer *c, struct stream_place *out,
                                uint32_t n)
{
    n = n < c->owned_count ? n : c->owned_count;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (struct stream_place){c->owned[i].topic, c->owned[i].partition,
                                       c->positions[i].next, lag_of(c, i)};
    }
    return n;
}

char *stream_consumer_cluster(const struct stream_consumer *c)
{
    return rd_kafka_clusterid(c->rk, 0);
}

const char *stream_consumer_group(const struct stream_consumer *c)
{
    return c->group;
}

/* ---- one partition ---------------------------------------------------------------------- */

int64_t stream_consumer_next(struct stream_consumer *c, uint32_t topic, int32_t partition)
{
    uint32_t i = stream_consumer_find(c, topic, partition);
    return i == c->owned_count ? -1 : c->positions[i].next;
}

static void hold(struct stream_consumer *c, uint32_t topic, int32_t partition, bool on)
{
    uint32_t i = stream_consumer_find(c, topic, partition);
    if (i == c->owned_count || c->positions[i].held == on)
        return;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, c->topics[topic], partition);
    (void)(on ? rd_kafka_pause_partitions(c->rk, list) : rd_kafka_resume_partitions(c->rk, list));
    rd_kafka_topic_partition_list_destroy(list);
    c->positions[i].held = on;
}

void stream_consumer_pause_partition(struct stream_consumer *c, uint32_t topic, int32_t partition)
{
    hold(c, topic, partition, true);
}

void stream_consumer_resume_partition(struct stream_consumer *c, uint32_t topic, int32_t partition)
{
    hold(c, topic, partition, false);
}

/* ---- going back ------------------------------------------------------------------------- */

static int seek(struct stream_consumer *c, struct fis_error *e)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)c->owned_count);
    for (uint32_t i = 0; i < c->owned_count; i++) {
        const struct stream_partition *p = &c->owned[i];
        rd_kafka_topic_partition_list_add(list, c->topics[p->topic], p->partition)->offset =
            RD_KAFKA_OFFSET_BEGINNING;
    }
    /* No timeout: it is a message to librdkafka's thread. What was fetched is outdated at once. A
     * partition that is not started yet refuses it unheard, and starts at its beginning. */
    rd_kafka_error_t *error = rd_kafka_seek_partitions(c->rk, list, 0);
    rd_kafka_topic_partition_list_destroy(list);
    int rc = 0;
    if (error) {
        rc = fis_fail(e, FIS_FATAL, "kafka consumer: seek to the beginning: %s",
                      rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
    }
    return rc;
}

int stream_consumer_seek_begin(struct stream_consumer *c, struct fis_error *e)
{
    if (!c->rewind) {
        return fis_fail(e, FIS_INPUT,
                        "kafka consumer: it was not opened to go back to the beginning");
    }
    if (c->owned_count == 0)
        return 0;
    for (uint32_t i = 0; i < c->owned_count; i++) {
        struct stream_position *p = &c->positions[i];
        hold(c, c->owned[i].topic, c->owned[i].partition, false);
        p->eof = false;
        if (!p->gone)
            p->next = -1;
    }
    return seek(c, e);
}

/* ---- the end ---------------------------------------------------------------------------- */

void stream_consumer_to_end(struct stream_consumer *c)
{
    for (uint32_t i = 0; i < c->owned_count; i++) {
        c->positions[i].ended = false;
        c->positions[i].blocked_at = -1;
    }
    c->end = c->end_reported = false;
    c->to_end = true;
}

void stream_consumer_check_end(struct stream_consumer *c)
{
    if (!c->reader || c->end || c->to_end || c->goals)
        return;
    for (uint32_t i = 0; i < c->owned_count; i++)
        if (!c->positions[i].ended)
            return;
    c->end = c->owned_count > 0;
}
