/* What librdkafka reports of a consumer, as an error of ours. */
#include <stdio.h>

#include "stream/consumer_impl.h"

void stream_consumer_failed(struct stream_consumer *c, rd_kafka_resp_err_t err, const char *where,
                            const char *text)
{
    char line[FIS_ERROR_TEXT], fatal[256];
    /* librdkafka goes on trying by itself unless it says fatal. One more will not get better: the
     * broker refuses the session timeout. */
    bool stop = err == RD_KAFKA_RESP_ERR__FATAL || err == RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT;
    rd_kafka_resp_err_t why = err;
    if (err == RD_KAFKA_RESP_ERR__FATAL &&
        (why = rd_kafka_fatal_error(c->rk, fatal, sizeof fatal)) != RD_KAFKA_RESP_ERR_NO_ERROR)
        text = fatal;
    const char *about = stream_client_about(&c->link, err);
    snprintf(line, sizeof line, "kafka consumer: %s: %s%s%s (%s)", where, about, *about ? ": " : "",
             text, rd_kafka_err2name(err));
    stream_errors_push(&c->errors,
                       why == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID ? FIS_ABORT_TXN
                       : stop                                      ? FIS_FATAL
                                                                   : FIS_RETRY,
                       line);
}
