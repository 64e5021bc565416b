/* The owned partitions and the group's rebalances. */
#include <string.h>

#include "fis/mem.h"
#include "stream/consumer_impl.h"

uint32_t stream_consumer_topic(const struct stream_consumer *c, const char *name)
{
    uint32_t i = 0;
    while (i < c->topic_count && strcmp(c->topics[i], name) != 0)
        i++;
    return i;
}

uint32_t stream_consumer_find(struct stream_consumer *c, uint32_t topic, int32_t partition)
{
    /* Messages come in runs of one partition: start where the last one was. */
    for (uint32_t k = 0, i = c->last; k < c->owned_count; k++, i++) {
        i = i < c->owned_count ? i : 0;
        if (c->owned[i].partition == partition && c->owned[i].topic == topic) {
            c->last = i;
            return i;
        }
    }
    return c->owned_count;
}

static bool make_room(struct stream_consumer *c, uint32_t room)
{
    if (room <= c->owned_room)
        return true;
    if (!fis_grow(&c->owned, c->owned_count, room, sizeof *c->owned) ||
        !fis_grow(&c->positions, c->owned_count, room, sizeof *c->positions))
        return false;
    c->owned_room = room;
    return true;
}

bool stream_consumer_own(struct stream_consumer *c, uint32_t topic, int32_t partition)
{
    if (c->owned_count == c->owned_room && !make_room(c, 2 * c->owned_room + 16))
        return false;
    c->owned[c->owned_count] = (struct stream_partition){topic, partition};
    c->positions[c->owned_count] = (struct stream_position){.next = -1,
                                                            .goal = -1,
                                                            .begin = -1,
                                                            .blocked_at = -1,
                                                            .unsettled = true,
                                                            .last.offset = -1,
                                                            .probe.offset = -1};
    c->unsettled = true;
    c->owned_count++;
    return true;
}

void stream_consumer_forward(struct stream_consumer *c, const char *topic, int32_t partition)
{
    rd_kafka_queue_t *q = rd_kafka_queue_get_partition(c->rk, topic, partition);
    if (q) {
        rd_kafka_queue_forward(q, c->data);
        rd_kafka_queue_destroy(q);
    }
}

int64_t stream_consumer_start(const struct stream_consumer *c)
{
    return c->election ? RD_KAFKA_OFFSET_END
           : c->rewind ? RD_KAFKA_OFFSET_BEGINNING
                       : RD_KAFKA_OFFSET_INVALID; /* what is committed */
}

static void report(struct stream_consumer *c, const char *what, rd_kafka_error_t *error)
{
    if (error) {
        stream_consumer_failed(c, rd_kafka_error_code(error), what, rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
    }
}

bool stream_consumer_cooperative(const struct stream_consumer *c)
{
    const char *protocol = rd_kafka_rebalance_protocol(c->rk);
    return protocol && strcmp(protocol, "COOPERATIVE") == 0;
}

static void assign(struct stream_consumer *c, rd_kafka_topic_partition_list_t *list)
{
    bool incremental = stream_consumer_cooperative(c);
    if (!incremental)
        c->owned_count = 0;
    for (int i = 0; i < list->cnt; i++) {
        rd_kafka_topic_partition_t *p = &list->elems[i];
        uint32_t topic = stream_consumer_topic(c, p->topic);
        p->offset = stream_consumer_start(c);
        stream_consumer_forward(c, p->topic, p->partition);
        if (!stream_consumer_own(c, topic, p->partition)) {
            stream_errors_push(&c->errors, FIS_FATAL,
                               "kafka consumer: out of memory for the "
                               "assigned partitions");
            break;
        }
    }
    if (incremental) {
        report(c, "assign", rd_kafka_incremental_assign(c->rk, list));
    } else {
        rd_kafka_resp_err_t err = rd_kafka_assign(c->rk, list);
        if (err)
            stream_consumer_failed(c, err, "assign", rd_kafka_err2str(err));
    }
    if (c->election)
        (void)rd_kafka_pause_partitions(c->rk, list);
    c->assigned = true;
}

/* A pause outlives the assignment in librdkafka; here it must not. */
static void let_go(struct stream_consumer *c, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_topic_partition_list_t *held = rd_kafka_topic_partition_list_new(1);
    for (int i = 0; i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &list->elems[i];
        uint32_t k = stream_consumer_find(c, stream_consumer_topic(c, p->topic), p->partition);
        if (k < c->owned_count && c->positions[k].held)
            rd_kafka_topic_partition_list_add(held, p->topic, p->partition);
    }
    if (held->cnt > 0)
        (void)rd_kafka_resume_partitions(c->rk, held);
    rd_kafka_topic_partition_list_destroy(held);
}

static void disown(struct stream_consumer *c, const rd_kafka_topic_partition_list_t *list,
                   bool lost)
{
    let_go(c, list);
    /* Moves the revoked ones to the end of owned, where on_revoke can see them as one list. */
    uint32_t keep = c->owned_count;
    for (int i = 0; i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &list->elems[i];
        uint32_t k = stream_consumer_find(c, stream_consumer_topic(c, p->topic), p->partition);
        if (k >= keep)
            continue;
        keep--;
        struct stream_partition t = c->owned[k];
        c->owned[k] = c->owned[keep];
        c->owned[keep] = t;
        c->positions[k] = c->positions[keep];
    }
    if (c->on_revoke && !c->closing)
        c->on_revoke(c->revoke_arg, lost, c->owned + keep, c->owned_count - keep);
    c->owned_count = keep;
    c->revoked = true;
    c->lost = c->lost || lost;
}

void stream_consumer_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                               rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct stream_consumer *c = opaque;
    c->placed = true;
    if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS && !c->closing) {
        assign(c, list);
        return;
    }
    if (err == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
        disown(c, list, rd_kafka_assignment_lost(rk));
        if (stream_consumer_cooperative(c)) {
            report(c, "unassign", rd_kafka_incremental_unassign(rk, list));
            return;
        }
    } else if (err != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        stream_consumer_failed(c, err, "rebalance", rd_kafka_err2str(err));
    }
    err = rd_kafka_assign(rk, NULL);
    if (err)
        stream_consumer_failed(c, err, "unassign", rd_kafka_err2str(err));
}
