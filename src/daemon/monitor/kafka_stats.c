#include "daemon/monitor/kafka_stats.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"

static uint64_t number(const json_t *o, const char *name)
{
    json_int_t n = json_integer_value(json_object_get(o, name));
    return n > 0 ? (uint64_t)n : 0;
}

/* Microseconds of a window of librdkafka's. */
static double seconds(const json_t *broker, const char *window, const char *name)
{
    return 1e-6 * (double)number(json_object_get(broker, window), name);
}

static void take_broker(const json_t *b, struct kafka_stats *out)
{
    double rtt = seconds(b, "rtt", "avg"), p99 = seconds(b, "rtt", "p99");
    const char *state = json_string_value(json_object_get(b, "state"));
    const char *source = json_string_value(json_object_get(b, "source"));
    if (source && strcmp(source, "internal") == 0)
        return;
    out->brokers++;
    out->brokers_up += state && strcmp(state, "UP") == 0;
    out->rtt_seconds = rtt > out->rtt_seconds ? rtt : out->rtt_seconds;
    out->rtt_p99_seconds = p99 > out->rtt_p99_seconds ? p99 : out->rtt_p99_seconds;
    out->requests_waiting += number(b, "outbuf_cnt");
    out->request_errors += number(b, "txerrs") + number(b, "rxerrs");
    out->request_timeouts += number(b, "req_timeouts");
    out->disconnects += number(b, "disconnects");
}

int kafka_stats_parse(const char *text, size_t length, struct kafka_stats *out)
{
    json_t *o = json_loadb(text, length, 0, NULL);
    const char *name;
    json_t *b;
    if (!json_is_object(o)) {
        json_decref(o);
        return -1;
    }
    *out = (struct kafka_stats){
        .queue_messages = number(o, "msg_cnt"),
        .queue_bytes = number(o, "msg_size"),
        .sent_bytes = number(o, "txmsg_bytes"),
        .received_bytes = number(o, "rxmsg_bytes"),
        .rebalances = number(json_object_get(o, "cgrp"), "rebalance_cnt"),
    };
    json_object_foreach(json_object_get(o, "brokers"), name, b) take_broker(b, out);
    json_decref(o);
    return 0;
}

/* ---- off the loop -----------------------------------------------------------------------------
 */

void kafka_watch_init(struct kafka_watch *w, struct workers *workers)
{
    *w = (struct kafka_watch){.workers = workers};
}

void kafka_watch_stop(struct kafka_watch *w)
{
    w->workers = NULL;
}

void kafka_watch_done(struct kafka_watch *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        fis_free(w->slots[i].text);
        w->slots[i].text = NULL;
    }
}

static void run(void *arg)
{
    struct kafka_slot *s = arg;
    s->rc = kafka_stats_parse(s->text, s->length, &s->parsed);
}

static void done(void *arg)
{
    struct kafka_slot *s = arg;
    fis_free(s->text);
    s->text = NULL;
    s->running = false;
    if (s->rc < 0)
        return;
    memcpy(s->parsed.client, s->stats.client, sizeof s->stats.client);
    s->stats = s->parsed;
}

static struct kafka_slot *slot_of(struct kafka_watch *w, const char *client)
{
    uint32_t i = 0;
    while (i < w->n && strcmp(w->slots[i].stats.client, client) != 0)
        i++;
    if (i == KAFKA_STATS_CLIENTS)
        return NULL;
    if (i == w->n) {
        snprintf(w->slots[i].stats.client, sizeof w->slots[i].stats.client, "%s", client);
        w->n++;
    }
    return &w->slots[i];
}

void kafka_watch_take(void *watch, const char *client, const char *json, size_t length)
{
    struct kafka_watch *w = watch;
    struct kafka_slot *s = slot_of(w, client);
    if (!s || s->running || !w->workers || !(s->text = fis_memdup(json, length)))
        return;
    s->running = true;
    s->length = length;
    s->job = (struct job){.run = run, .done = done, .arg = s};
    workers_submit(w->workers, &s->job);
}
