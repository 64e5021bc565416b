/* The clients of the roles, made from the properties of a configuration and thrown away. */
#include <string.h>

#include "fis/mem.h"
#include "stream/clients_check.h"
#include "stream/consumer.h"
#include "stream/producer.h"

/* Nobody listens there: no client of a check reaches a broker. */
#define NOWHERE "127.0.0.1:1"

static int check_all(const struct stream_client *client, bool exactly_once, struct fis_error *e)
{
    static const char *const topics[] = {"t"};
    const struct stream_consumer_options consumers[] = {
        {.client = *client, .group_id = "g", .topics = topics, .topic_count = 1},
        {.client = *client, .group_id = "g", .election = true, .topics = topics, .topic_count = 1},
        {.client = *client, .group_id = "g", .stored = true, .topics = topics, .topic_count = 1},
        {.client = *client, .topics = topics, .topic_count = 1},
    };
    const struct stream_producer_options producers[] = {
        {.client = *client, .patient = true},
        {.client = *client, .transactional_id = "x"},
    };
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof consumers / sizeof *consumers; i++)
        rc = stream_consumer_check(&consumers[i], e);
    for (size_t i = 0; !rc && i < (exactly_once ? 2 : 1); i++)
        rc = stream_producer_check(&producers[i], e);
    return rc;
}

int stream_clients_check(const struct stream_property *properties, size_t count, bool exactly_once,
                         struct fis_error *e)
{
    const char *brokers;
    if (stream_property_find(properties, count, "bootstrap.servers") &&
        stream_brokers_find(properties, count, &brokers, e) < 0)
        return -FIS_INPUT;
    struct stream_property *all = fis_calloc(count + 1, sizeof *all);
    if (!all)
        return fis_fail(e, FIS_NOMEM, "no memory for %zu Kafka properties", count);
    if (count)
        memcpy(all, properties, count * sizeof *all);
    all[count] = (struct stream_property){"bootstrap.servers", NOWHERE};
    struct stream_client client = {.properties = all, .property_count = count + 1, .name = "check"};
    int rc = check_all(&client, exactly_once, e);
    fis_free(all);
    return rc;
}
