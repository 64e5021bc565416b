/*
 * What every command of fisctl shares: the configuration, the broker, the clock, interruption.
 *
 * Exit codes: 0 done, 1 it failed (the reason is on standard error), 2 wrong usage, 3 a command to
 * the trainer was sent and is not taken yet.
 * Results go to standard output, progress and errors to standard error.
 *
 * Interruption: SIGINT and SIGTERM are taken by a thread, so no global is needed. The first one
 * ends a command in order that asks cli_stopping, which every loop does at least ten times a
 * second; one that has not asked yet has nothing to bring to an end, and is ended at once, as is
 * one that does not ask again within ten seconds. A second one ends the process at once. A signal
 * that was ignored when the program began (a background job of a script) stays so.
 *
 * Thread: one beside that. Owns: the configuration and the client's properties, until cli_done.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "stream/embedded_address.h"
#include "stream/conf.h"
#include "wire/types.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_PENDING = 3 };

/* Properties, as given: each NAME=VALUE or a FILE of them. */
enum { CLI_PROPERTIES_MAX = 32 };
#define CLI_PROPERTIES_MOST "32"
struct cli_properties {
    const char *items[CLI_PROPERTIES_MAX];
    uint32_t n;
};

struct cli {
    const char *config_path; /* -c, or $FISD_CONFIG, or fisd.yaml */
    const char *bootstrap;   /* -b, or NULL */
    struct cli_properties given;
    atomic_bool stopping, asks, ends; /* a signal came; cli_stopping was asked; it answered yes */

    struct config cfg;
    struct wire_schema schema; /* label_column and sensitive are those of the validation set */
    enum wire_encoding records_encoding, labels_encoding;
    struct stream_property *properties;
    const char *broker; /* one or several: bootstrap.servers */
    char running[STREAM_ADDRESS_MAX];
    bool embedded;    /* the broker is the one inside a fisd of this pipeline */
    bool answered;    /* a broker answered at the start */
    int wake_pipe[2]; /* the stream layer writes, cli_wait reads */
    struct stream_client client;
    struct cli_trouble {
        pthread_mutex_t lock;
        char text[256];
        bool error;
    } trouble; /* of librdkafka's log: the last error, else the last line */
};

/* Blocks the signals; nothing else. */
void cli_init(struct cli *c);
/* Loads the configuration and finds the broker: -b, then kafka.bootstrap.servers, then the
 * embedded one that runs. The clients of this broker are made with c->client. */
int cli_open(struct cli *c, struct fis_error *e) FIS_MUST_CHECK;
/* For a command without a configuration: -X into cfg.kafka; then the broker, NULL when neither -b
 * nor -X names one; and the client. */
int cli_take_kafka(struct cli *c, struct fis_error *e) FIS_MUST_CHECK;
/* The same of another option, of this name. `bare`: what a URL alone is a value of, or NULL.
 * `check` (NULL: none) judges each. */
typedef int cli_property_fn(const struct stream_property *p, struct fis_error *e);
int cli_take_properties(const struct cli_properties *given, const char *option, const char *bare,
                        cli_property_fn *check, struct config_properties *into,
                        struct fis_error *e) FIS_MUST_CHECK;
const char *cli_broker(const struct cli *c);
int cli_connect(struct cli *c, struct fis_error *e) FIS_MUST_CHECK;
void cli_done(struct cli *c);
/* How long one question waits for its answer: a minute, as Kafka's own tools wait; less where no
 * broker answered at the start. */
int cli_answer_ms(const struct cli *c);
/* ": the last error of the clients", as of a login that fails; or empty. */
const char *cli_trouble(struct cli *c, char out[300]);

/* Whether the embedded broker that was found has ended: a new one has another address, so there
 * is nothing to wait for. INPUT error then; 0 otherwise. */
int cli_broker_gone(const struct cli *c, struct fis_error *e) FIS_MUST_CHECK;

bool cli_stopping(struct cli *c);
/* Until the stream layer has something, or `ms` are over, or (when fd >= 0) fd can be read: true
 * for the last. Returns early for a signal. */
bool cli_wait(struct cli *c, int fd, int ms);

void cli_sleep(struct cli *c, uint64_t ms); /* or until it is time to stop */

int64_t cli_now_ms(void);  /* monotonic */
int64_t cli_wall_ms(void); /* since 1970 */

/* Who runs this: the name of the user, or "uid N". */
const char *cli_user(char out[64]);

/* "fisctl: text" on standard error. */
void cli_say(const char *format, ...) FIS_PRINTF(1, 2);
int cli_fail(const struct fis_error *e); /* says it; CLI_FAILED */

#endif
