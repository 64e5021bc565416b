/* Topics, and records on them. */
#include "bench.h"

int bench_topic(int argc, char **argv)
{
    char text[200];
    rd_kafka_t *rk = client(RD_KAFKA_PRODUCER, conf_for(argv[0]));
    rd_kafka_NewTopic_t *t =
        rd_kafka_NewTopic_new(argv[1], (int)number(argv[2]), 1, text, sizeof text);
    for (int i = 3; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            die("'%s' is not key=value", argv[i]);
        *equals = 0;
        if (rd_kafka_NewTopic_set_config(t, argv[i], equals + 1))
            die("topic: %s", argv[i]);
    }
    rd_kafka_queue_t *q = rd_kafka_queue_new(rk);
    rd_kafka_CreateTopics(rk, &t, 1, NULL, q);
    rd_kafka_event_t *ev = rd_kafka_queue_poll(q, 30000);
    const rd_kafka_CreateTopics_result_t *r = rd_kafka_event_CreateTopics_result(ev);
    size_t n = 0;
    const rd_kafka_topic_result_t **each = r ? rd_kafka_CreateTopics_result_topics(r, &n) : NULL;
    if (n != 1 || rd_kafka_topic_result_error(each[0]))
        die("topic %s: %s", argv[1],
            n ? rd_kafka_topic_result_error_string(each[0]) : rd_kafka_event_error_string(ev));
    rd_kafka_event_destroy(ev);
    rd_kafka_queue_destroy(q);
    rd_kafka_NewTopic_destroy(t);
    rd_kafka_destroy(rk);
    return 0;
}

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
    (void)rk;
    (void)opaque;
    if (m->err)
        die("feed: %s", rd_kafka_err2str(m->err));
}

/* Waits until record i is due. */
static void keep_pace(rd_kafka_t *rk, double begin, uint64_t i, double rate)
{
    while (rate > 0 && wall_s() < begin + (double)i / rate) {
        rd_kafka_poll(rk, 0);
        nap_us(200);
    }
}

/* "r" and the number end there; where they begin, at most 21 bytes before. printf would be a tenth
 * of what feeding takes. */
static char *key_of(uint64_t i, char *end)
{
    do {
        *--end = (char)('0' + i % 10);
    } while (i /= 10);
    *--end = 'r';
    return end;
}

/* Round robin: no partitioner's work. */
static void send_one(rd_kafka_t *rk, rd_kafka_topic_t *rkt, int partition, struct maker *m,
                     uint64_t i)
{
    char text[24], *end = text + sizeof text, *key = key_of(i, end);
    const unsigned char *value;
    size_t length = maker_record(m, i, &value);
    while (rd_kafka_produce(rkt, partition, RD_KAFKA_MSG_F_COPY, (void *)(uintptr_t)value, length,
                            key, (size_t)(end - key), NULL)) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            die("feed: %s", rd_kafka_err2str(rd_kafka_last_error()));
        rd_kafka_poll(rk, 5);
    }
}

int bench_feed(int argc, char **argv)
{
    uint64_t n = number(argv[4]);
    double rate = argc > 5 ? (double)number(argv[5]) : 0;
    rd_kafka_conf_t *conf = conf_for(argv[0]);
    conf_set(conf, "linger.ms", "20");
    conf_set(conf, "batch.size", "900000");
    conf_set(conf, "queue.buffering.max.messages", "200000");
    conf_set(conf, "delivery.report.only.error", "true");
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    rd_kafka_t *rk = client(RD_KAFKA_PRODUCER, conf);
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, argv[1], NULL);
    int partitions = partitions_of(rk, rkt);
    struct maker *m = maker_new(argv[2], number(argv[3]));
    double begin = wall_s();
    for (uint64_t i = 0; i < n; i++) {
        if (i % 64 == 0) {
            rd_kafka_poll(rk, 0);
            keep_pace(rk, begin, i, rate);
        }
        send_one(rk, rkt, (int)(i % (uint64_t)partitions), m, i);
    }
    if (rd_kafka_flush(rk, 60000))
        die("feed: not all was delivered");
    printf("fed %llu in %.2f s\n", (unsigned long long)n, wall_s() - begin);
    maker_free(m);
    rd_kafka_topic_destroy(rkt);
    rd_kafka_destroy(rk);
    return 0;
}
