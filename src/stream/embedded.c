#include "stream/embedded.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "fis/mem.h"
#include "stream/client.h"

#define MOST_PARTITIONS 1000

struct stream_embedded {
    struct stream_link link; /* first: it is the opaque of rk */
    rd_kafka_t *rk;          /* the mock cluster lives inside a client that connects nowhere */
    rd_kafka_mock_cluster_t *cluster;
};

int stream_embedded_start(struct stream_embedded **out, struct fis_error *e)
{
    struct stream_embedded *b = fis_calloc(1, sizeof *b);
    if (!b)
        return fis_fail(e, FIS_NOMEM, "embedded broker: out of memory");
    /* No connection is made to this address: nothing is sent through this client. */
    const struct stream_property where[] = {{"bootstrap.servers", "127.0.0.1:9"},
                                            {"client.id", "fisd-embedded"}};
    const struct stream_client client = {.properties = where, .property_count = 2};
    const struct stream_layers none = {0};
    rd_kafka_conf_t *conf;
    int rc = stream_client_conf(&conf, &client, &none, &b->link, e);
    if (!rc)
        rc = stream_client_new(&b->rk, RD_KAFKA_PRODUCER, conf, e);
    if (!rc) {
        b->cluster = rd_kafka_mock_cluster_new(b->rk, 1);
        if (!b->cluster)
            rc = fis_fail(e, FIS_FATAL, "embedded broker: cannot listen on 127.0.0.1");
    }
    if (rc) {
        stream_embedded_stop(b);
        return rc;
    }
    *out = b;
    return 0;
}

const char *stream_embedded_bootstrap(const struct stream_embedded *b)
{
    return rd_kafka_mock_cluster_bootstraps(b->cluster);
}

int stream_embedded_topic(struct stream_embedded *b, const char *name, int partitions,
                          struct fis_error *e)
{
    if (partitions < 1 || partitions > MOST_PARTITIONS) {
        return fis_fail(e, FIS_INPUT, "embedded broker: topic \"%s\": %d partitions; 1 to %d", name,
                        partitions, MOST_PARTITIONS);
    }
    rd_kafka_resp_err_t err = rd_kafka_mock_topic_create(b->cluster, name, partitions, 1);
    if (err) {
        return fis_fail(e, FIS_INPUT, "embedded broker: topic \"%s\": %s", name,
                        rd_kafka_err2str(err));
    }
    return 0;
}

void stream_embedded_stop(struct stream_embedded *b)
{
    if (!b)
        return;
    if (b->cluster)
        rd_kafka_mock_cluster_destroy(b->cluster);
    if (b->rk)
        rd_kafka_destroy(b->rk);
    fis_free(b);
}
