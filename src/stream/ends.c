#include "stream/ends.h"

#include <stdio.h>
#include <string.h>

#include "fis/mem.h"

#define MOST_PAUSES 10

bool stream_ends_init(struct stream_ends *s, const rd_kafka_conf_t *conf,
                      const struct stream_link *link, char *const *topics)
{
    static const struct stream_property other[] = {{"isolation.level", "read_uncommitted"},
                                                   {"group.id", NULL},
                                                   {"group.instance.id", NULL},
                                                   {"statistics.interval.ms", "0"}};
    if (!stream_helper_init(&s->helper, link))
        return false;
    s->topics = topics;
    s->conf = rd_kafka_conf_dup(conf);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        (void)rd_kafka_conf_set(s->conf, other[i].key, other[i].value, NULL, 0);
    return true;
}

void stream_ends_stop(struct stream_ends *s)
{
    stream_helper_stop(&s->helper);
}

void stream_ends_done(struct stream_ends *s)
{
    stream_helper_done(&s->helper);
    rd_kafka_conf_destroy(s->conf);
    fis_free(s->list);
}

struct stream_range *stream_ends_room(struct stream_ends *s, uint32_t count)
{
    if (count > s->room) {
        if (!fis_grow(&s->list, 0, count, sizeof *s->list))
            return NULL;
        s->room = count;
    }
    return s->list;
}

/* Where the answer keeps the order of the question, which nobody promises, there is no search. */
static const rd_kafka_topic_partition_t *answer(rd_kafka_topic_partition_list_t *answers, int i,
                                                const rd_kafka_topic_partition_t *question)
{
    const rd_kafka_topic_partition_t *p = &answers->elems[i];
    return p->partition == question->partition && !strcmp(p->topic, question->topic)
               ? p
               : rd_kafka_topic_partition_list_find(answers, question->topic, question->partition);
}

/* `which`: RD_KAFKA_OFFSET_BEGINNING or _END, which the protocol takes in the place of a time.
 * One request for each broker: where nothing comes on its connection each waits for the fetch
 * before it, and one for each partition would take minutes. */
static rd_kafka_resp_err_t find(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list,
                                int64_t which, int timeout_ms, struct stream_range *found)
{
    rd_kafka_topic_partition_list_t *answers = rd_kafka_topic_partition_list_copy(list);
    for (int i = 0; i < answers->cnt; i++)
        answers->elems[i].offset = which;
    rd_kafka_resp_err_t err = rd_kafka_offsets_for_times(rk, answers, timeout_ms);
    for (int i = 0; !err && i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = answer(answers, i, &list->elems[i]);
        err = p->err;
        if (!err && p->offset < 0)
            err = RD_KAFKA_RESP_ERR__TIMED_OUT; /* no answer, and no word of it */
        *(which == RD_KAFKA_OFFSET_END ? &found[i].high : &found[i].low) = p->offset;
    }
    rd_kafka_topic_partition_list_destroy(answers);
    return err;
}

rd_kafka_resp_err_t stream_ends_find(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list,
                                     int timeout_ms, struct stream_range *found)
{
    rd_kafka_resp_err_t err = find(rk, list, RD_KAFKA_OFFSET_BEGINNING, timeout_ms, found);
    return err ? err : find(rk, list, RD_KAFKA_OFFSET_END, timeout_ms, found);
}

static rd_kafka_resp_err_t ask(struct stream_ends *s, rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)s->count);
    for (uint32_t i = 0; i < s->count; i++)
        rd_kafka_topic_partition_list_add(list, s->topics[s->list[i].topic], s->list[i].partition);
    rd_kafka_resp_err_t err = stream_ends_find(rk, list, STREAM_HELPER_ASK_MS, s->list);
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

static rd_kafka_t *start_client(const struct stream_ends *s)
{
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_dup(s->conf);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    if (!rk)
        rd_kafka_conf_destroy(conf);
    return rk;
}

static void say(struct stream_ends *s, rd_kafka_resp_err_t err)
{
    char text[FIS_ERROR_TEXT];
    uint32_t topic = s->list[0].topic;
    snprintf(text, sizeof text,
             "kafka topic \"%s\": the beginnings and ends of %u partitions cannot be read: %s; "
             "trying again",
             s->topics[topic], s->count, rd_kafka_err2str(err));
    stream_helper_say(&s->helper, (uint64_t)(err + 1000) << 32 | topic, text);
}

/* Each try by a client of its own: one keeps that a partition had no leader, or an id of a topic
 * that is gone, for metadata.max.age.ms (15 minutes), and answers by it without a question. */
static rd_kafka_resp_err_t try(struct stream_ends *s)
{
    rd_kafka_t *rk = start_client(s);
    if (!rk)
        return RD_KAFKA_RESP_ERR__FAIL;
    rd_kafka_resp_err_t err = ask(s, rk);
    rd_kafka_destroy(rk);
    return err;
}

/* Until all is answered: a leader that is away returns, a topic may be recreated. Reported from the
 * second failure on: leaders of topics that were just made move within a second. Less and less
 * often, down to once in two seconds: each try is a connection. */
static void *ask_all(void *arg)
{
    struct stream_ends *s = arg;
    rd_kafka_resp_err_t err;
    bool stop = false;
    for (uint32_t tries = 1; !stop && (err = try(s)) != 0; tries++) {
        if (tries > 1)
            say(s, err);
        for (uint32_t i = 0; !stop && i < tries && i < MOST_PAUSES; i++)
            stop = stream_helper_pause(&s->helper);
    }
    if (!stop)
        stream_helper_finish(&s->helper);
    return NULL;
}

bool stream_ends_ask(struct stream_ends *s, uint32_t count)
{
    s->count = count;
    return stream_helper_start(&s->helper, ask_all, s);
}
