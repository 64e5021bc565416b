/*
 * Inside stream/: what consumer, producer and admin calls share in making a librdkafka client.
 */
#ifndef STREAM_CLIENT_H
#define STREAM_CLIENT_H

#include <librdkafka/rdkafka.h>

#include "stream/conf.h"

/* Where a client's callbacks lead. First member of what is the opaque of a rd_kafka_t. */
struct stream_link {
    stream_wake_fn *wake;
    void *wake_arg;
    stream_log_fn *log;
    void *log_arg;
    stream_stats_fn *stats;
    void *stats_arg;
    const char *name;
    char brokers[128]; /* bootstrap.servers, for messages to people */
};

/* Properties in layers: defaults, the operator's, and those that fisd itself sets: an operator's
 * property that contradicts a fixed one is refused, one that is forced gives way without a word.
 * NULL values are left out. */
struct stream_layers {
    const struct stream_property *defaults;
    size_t default_count;
    const struct stream_property *fixed;
    size_t fixed_count;
    const struct stream_property *forced;
    size_t forced_count;
};

/* A configuration with the log callback and `link` as its opaque. INPUT: a bad property. */
int stream_client_conf(rd_kafka_conf_t **out, const struct stream_client *client,
                       const struct stream_layers *layers, struct stream_link *link,
                       struct fis_error *e) FIS_MUST_CHECK;

/* Takes conf, also on failure. */
int stream_client_new(rd_kafka_t **out, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                      struct fis_error *e) FIS_MUST_CHECK;

/* What stands behind an error's text: whom it is about, where librdkafka names nobody. */
const char *stream_client_about(const struct stream_link *link, rd_kafka_resp_err_t err);

/* Hands a text of statistics on. */
void stream_client_stats(const struct stream_link *link, const char *json, size_t length);

/* Calls the link's wake when the queue becomes non-empty. */
void stream_client_watch(rd_kafka_queue_t *queue, struct stream_link *link);

int64_t stream_now_ms(void); /* monotonic */

/* The pending errors of a client: distinct ones, oldest first; only RETRY is ever dropped. */
#define STREAM_ERRORS 8
struct stream_errors {
    struct fis_error items[STREAM_ERRORS];
    uint32_t count;
};
void stream_errors_push(struct stream_errors *q, enum fis_error_kind kind, const char *text);
bool stream_errors_pop(struct stream_errors *q, struct fis_error *e);

/* Places of a commit; a mark goes as their metadata. */
#define STREAM_MARK "mark="
rd_kafka_topic_partition_list_t *stream_offsets_list(const struct stream_offset *offsets,
                                                     size_t count);

#endif
