#include "stream/hold.h"

#include <stdio.h>
#include <string.h>

#include "fis/mem.h"

struct stream_held {
    struct stream_held *next;
    rd_kafka_headers_t *headers;
    int32_t partition;
    void *opaque;
    void *key, *value; /* NULL: none */
    size_t key_length, value_length;
    char topic[];
};

bool stream_hold_init(struct stream_hold *h, rd_kafka_t *rk, const struct stream_link *link)
{
    h->rk = rk;
    h->failed_end = &h->failed;
    h->fresh_end = &h->fresh;
    return stream_helper_init(&h->helper, link);
}

static void free_held(struct stream_held *m)
{
    if (m->headers)
        rd_kafka_headers_destroy(m->headers);
    fis_free(m->key);
    fis_free(m->value);
    fis_free(m);
}

static struct stream_held *pop(struct stream_hold *h)
{
    struct stream_held **from = h->failed ? &h->failed : &h->fresh, *m = *from;
    *from = m->next;
    if (!h->failed)
        h->failed_end = &h->failed;
    if (!h->fresh)
        h->fresh_end = &h->fresh;
    h->count--;
    return m;
}

void stream_hold_done(struct stream_hold *h)
{
    stream_helper_stop(&h->helper);
    stream_helper_done(&h->helper);
    while (h->count)
        free_held(pop(h));
}

bool stream_hold_takes(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
           err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

static bool among(const struct stream_held *m, const char *topic)
{
    while (m && strcmp(m->topic, topic) != 0)
        m = m->next;
    return m != NULL;
}

bool stream_hold_waits(const struct stream_hold *h, const char *topic)
{
    return h->count && (among(h->failed, topic) || among(h->fresh, topic));
}

/* ---- taking ----------------------------------------------------------------------------- */

static rd_kafka_headers_t *copy_headers(const rd_kafka_message_t *m,
                                        const struct stream_header *headers, size_t count)
{
    rd_kafka_headers_t *of = NULL;
    if (m->rkt && rd_kafka_message_headers(m, &of) == RD_KAFKA_RESP_ERR_NO_ERROR)
        return rd_kafka_headers_copy(of);
    return count ? stream_headers(headers, count) : NULL;
}

bool stream_hold_take(struct stream_hold *h, const rd_kafka_message_t *m, const char *topic,
                      const struct stream_header *headers, size_t header_count, bool failed)
{
    size_t n = strlen(topic) + 1;
    struct stream_held *held = fis_calloc(1, sizeof *held + n);
    if (!held)
        return false;
    memcpy(held->topic, topic, n);
    held->partition = m->partition;
    held->opaque = m->_private;
    held->key_length = m->key ? m->key_len : 0;
    held->value_length = m->payload ? m->len : 0;
    held->key = m->key ? fis_memdup(m->key, m->key_len) : NULL;
    held->value = m->payload ? fis_memdup(m->payload, m->len) : NULL;
    held->headers = copy_headers(m, headers, header_count);
    if ((m->key && !held->key) || (m->payload && !held->value)) {
        free_held(held);
        return false;
    }
    struct stream_held ***end = failed ? &h->failed_end : &h->fresh_end;
    **end = held;
    *end = &held->next;
    h->count++;
    return true;
}

/* ---- sending ---------------------------------------------------------------------------- */

static bool topic_is_there(rd_kafka_t *rk, const char *topic, rd_kafka_resp_err_t *err)
{
    const struct rd_kafka_metadata *m = NULL;
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    *err = rkt ? rd_kafka_metadata(rk, 0, rkt, &m, STREAM_HELPER_ASK_MS) : rd_kafka_last_error();
    if (!*err)
        *err = m->topic_cnt == 1 ? m->topics[0].err : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    bool there = !*err && m->topics[0].partition_cnt > 0;
    if (m)
        rd_kafka_metadata_destroy(m);
    if (rkt)
        rd_kafka_topic_destroy(rkt);
    return there;
}

/* In the thread. */
static void *wait_for_topic(void *arg)
{
    struct stream_hold *h = arg;
    rd_kafka_resp_err_t err;
    char text[FIS_ERROR_TEXT];
    while (!topic_is_there(h->rk, h->asked, &err)) {
        snprintf(text, sizeof text, "kafka topic \"%s\": %s; waiting for it: create it again",
                 h->asked, rd_kafka_err2str(err));
        stream_helper_say(&h->helper, (uint64_t)(err + 1000), text);
        if (stream_helper_pause(&h->helper))
            return NULL;
    }
    stream_helper_finish(&h->helper);
    return NULL;
}

static rd_kafka_resp_err_t send_again(rd_kafka_t *rk, struct stream_held *m)
{
    rd_kafka_resp_err_t err = rd_kafka_producev(
        rk, RD_KAFKA_V_TOPIC(m->topic), RD_KAFKA_V_PARTITION(m->partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(m->key, m->key_length),
        RD_KAFKA_V_VALUE(m->value, m->value_length), RD_KAFKA_V_HEADERS(m->headers),
        RD_KAFKA_V_OPAQUE(m->opaque), RD_KAFKA_V_END);
    if (!err)
        m->headers = NULL; /* librdkafka's */
    return err;
}

bool stream_hold_busy(const struct stream_hold *h)
{
    return h->count || h->found < h->n_needed;
}

void stream_hold_serve(struct stream_hold *h, struct stream_errors *errors)
{
    bool there = stream_helper_over(&h->helper, errors), needs = h->found < h->n_needed;
    if (there && needs)
        needs = ++h->found < h->n_needed;
    while (there && h->count) {
        struct stream_held *m = h->failed ? h->failed : h->fresh;
        if (strcmp(m->topic, h->asked) != 0 || send_again(h->rk, m) != RD_KAFKA_RESP_ERR_NO_ERROR)
            break;
        free_held(pop(h));
    }
    if (h->helper.running || !stream_hold_busy(h))
        return;
    snprintf(h->asked, sizeof h->asked, "%s",
             needs ? h->needed[h->found] : (h->failed ? h->failed : h->fresh)->topic);
    (void)stream_helper_start(&h->helper, wait_for_topic,
                              h); /* no thread now: the next poll tries */
}
