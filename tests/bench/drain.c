/*
 * The bare loop that fisd is held against: librdkafka's batch call over all partitions of a topic,
 * and nothing done with a message but what WHAT says: nothing, or "json": parsed by jansson. And
 * what fisd says of its own progress. Both print the rate between 20 % and 80 % of the records,
 * where neither the start nor what was fetched ahead counts; or from a record on.
 */
#include "bench.h"

#include <jansson.h>
#include <sys/resource.h>

#include "wire/protobuf_codec.h"
#include "wire/protobuf_reader.h"

struct span {
    uint64_t n, begin, end; /* records in all; what is measured */
    uint64_t from, to;      /* as it was when that began and ended */
    double from_s, to_s, cpu_from, cpu_to;
};

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static struct span span_of(uint64_t n)
{
    return (struct span){.n = n, .begin = n / 5, .end = n / 5 * 4};
}

static void note(struct span *s, uint64_t done, double now)
{
    if (done >= s->begin && !s->from) {
        s->from = done;
        s->from_s = now;
        s->cpu_from = cpu_s();
    }
    if (done >= s->end && !s->to) {
        s->to = done;
        s->to_s = now;
        s->cpu_to = cpu_s();
    }
}

static rd_kafka_queue_t *start(rd_kafka_t *rk, const char *topic)
{
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    rd_kafka_queue_t *q = rd_kafka_queue_new(rk);
    int n = partitions_of(rk, rkt);
    for (int p = 0; p < n; p++)
        if (rd_kafka_consume_start_queue(rkt, p, RD_KAFKA_OFFSET_BEGINNING, q))
            die("%s/%d: cannot start", topic, p);
    return q;
}

static void parse(const rd_kafka_message_t *m)
{
    json_error_t error;
    json_t *root = json_loadb(m->payload, m->len, 0, &error);
    if (!root)
        die("not JSON: %s", error.text);
    json_decref(root);
}

int bench_drain(int argc, char **argv)
{
    (void)argc;
    struct span s = span_of(number(argv[2]));
    uint32_t batch = number(argv[3]), pause = number(argv[4]);
    bool json = strcmp(argv[5], "json") == 0;
    rd_kafka_conf_t *conf = conf_for(argv[0]);
    conf_set(conf, "queued.max.messages.kbytes", "65536"); /* as fisd */
    if (json)
        json_set_alloc_funcs(malloc, free);
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, conf);
    rd_kafka_queue_t *q = start(rk, argv[1]);
    rd_kafka_message_t **m = calloc(batch, sizeof *m);
    uint64_t done = 0, bytes = 0;
    while (done < s.n) {
        ssize_t n = rd_kafka_consume_batch_queue(q, 100, m, batch);
        for (ssize_t i = 0; i < n; i++) {
            if (m[i]->err && m[i]->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
                die("drain: %s", rd_kafka_message_errstr(m[i]));
            if (json && !m[i]->err)
                parse(m[i]);
            done += !m[i]->err;
            bytes += m[i]->err ? 0 : m[i]->len;
            rd_kafka_message_destroy(m[i]);
        }
        note(&s, done, wall_s());
        if (pause)
            nap_us(pause);
    }
    uint64_t n = s.to - s.from;
    printf("rate %.0f cpu_us %.3f bytes %.0f\n", (double)n / (s.to_s - s.from_s),
           1e6 * (s.cpu_to - s.cpu_from) / (double)n, (double)bytes / (double)done);
    fflush(stdout);
    _Exit(0); /* what is left in queues is nobody's concern */
}

#define PROGRESS 2 /* its field in Offer */

/* Records that a message on `candidates` says were handled. The candidates themselves are skipped:
 * this reader's time is not what is measured. */
static uint64_t handled(const rd_kafka_message_t *m, struct fis_arena *arena, uint64_t *refused)
{
    struct wire_reader r = wire_reader_of((struct wire_bytes){m->payload, m->len});
    struct wire_field f;
    do
        if (wire_reader_next(&r, &f, NULL) <= 0)
            return 0;
    while (f.number != PROGRESS);
    struct wire_message message = {.key = {m->key, m->key_len},
                                   .value = {r.base + f.offset, m->len - f.offset}};
    struct wire_offer offer;
    struct fis_error e;
    uint64_t n = 0;
    fis_arena_reset(arena);
    if (wire_offer_decode(&message, arena, &offer, &e) != WIRE_OK)
        die("candidates: %s", e.text);
    for (uint32_t i = 0; offer.progress && i < offer.progress->n_ranges; i++) {
        n += offer.progress->ranges[i].records;
        *refused += offer.progress->ranges[i].refused;
    }
    return n;
}

int bench_progress(int argc, char **argv)
{
    struct span s = span_of(number(argv[2]));
    if (argc > 3) {
        s.begin = number(argv[3]);
        s.end = s.n;
    }
    struct fis_arena arena = {.base = fis_alloc(1 << 20, 1), .size = 1 << 20};
    rd_kafka_conf_t *conf = conf_for(argv[0]);
    conf_set(conf, "fetch.wait.max.ms", "200");
    conf_set(conf, "fetch.min.bytes", "100000");
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, conf);
    rd_kafka_queue_t *q = start(rk, argv[1]);
    uint64_t done = 0, refused = 0, messages = 0;
    double until = wall_s() + 300;
    while (done < s.n && wall_s() < until) {
        rd_kafka_message_t *m = rd_kafka_consume_queue(q, 1000);
        if (!m || m->err)
            continue;
        done += handled(m, &arena, &refused);
        messages++;
        note(&s, done, 1e-3 * (double)rd_kafka_message_timestamp(m, NULL));
        rd_kafka_message_destroy(m);
    }
    if (done < s.n || refused)
        die("progress: %llu of %llu records, %llu refused", (unsigned long long)done,
            (unsigned long long)s.n, (unsigned long long)refused);
    printf("rate %.0f messages %llu\n", (double)(s.to - s.from) / (s.to_s - s.from_s),
           (unsigned long long)messages);
    fflush(stdout);
    _Exit(0);
}
