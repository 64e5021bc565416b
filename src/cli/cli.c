#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "binding/binding.h"
#include "config/schema.h"
#include "fis/mem.h"
#include "wire/json_arena.h"

/* After this time without an answer a command says whom it waits for. */
enum { SILENT_MS = 2000, MISSING_MS = 30000, ANSWER_MS = 60000 };
/* How long a command may take to notice that it is to end. */
enum { GRACE_S = 10 };

static const char standard_path[] = "fisd.yaml";

static void stop_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

/* OpenBLAS starts threads before main, which do not block signals. When one of them is hit, it
 * blocks the signal from then on and sends it again: then it waits for the thread below. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    (void)info;
    sigaddset(&interrupted->uc_sigmask, number);
    kill(getpid(), number);
}

static void set_handlers(bool normal)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        struct sigaction now, new = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
        if (normal)
            new = (struct sigaction){.sa_handler = SIG_DFL};
        sigemptyset(&new.sa_mask);
        if (!sigaction(numbers[i], NULL, &now) &&
            ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_IGN))
            sigaction(numbers[i], &new, NULL);
    }
}

/* The thread that takes the first signal; a second one ends the process by the default action. */
static void *watch_signals(void *cli)
{
    struct cli *c = cli;
    sigset_t set;
    int number;
    stop_signals(&set);
    if (sigwait(&set, &number))
        return NULL;
    atomic_store(&c->stopping, true);
    set_handlers(true);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    for (int s = 0; s < GRACE_S && atomic_load(&c->asks) && !atomic_load(&c->ends); s++)
        sleep(1);
    if (!atomic_load(&c->ends))
        kill(getpid(), number);
    while (true)
        pause();
}

void cli_init(struct cli *c)
{
    sigset_t set;
    pthread_t watch;
    *c = (struct cli){.wake_pipe = {-1, -1}};
    pthread_mutex_init(&c->trouble.lock, NULL);
    const char *path = getenv("FISD_CONFIG");
    c->config_path = path && *path ? path : standard_path;
    stop_signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (!pthread_create(&watch, NULL, watch_signals, c)) {
        pthread_detach(watch);
        set_handlers(false);
    } else {
        sigprocmask(SIG_UNBLOCK, &set, NULL);
    }
    /* A reader that goes away (head, less) shows as a failed write, not as a sudden death that
     * would leave messages unsent. */
    signal(SIGPIPE, SIG_IGN);
    wire_json_init();
}

bool cli_stopping(struct cli *c)
{
    if (!atomic_load(&c->asks))
        atomic_store(&c->asks, true);
    if (!atomic_load(&c->stopping))
        return false;
    atomic_store(&c->ends, true);
    return true;
}

/* From a thread of librdkafka: one byte, and when the pipe is full there are bytes enough. */
static void wake(void *arg)
{
    const struct cli *c = arg;
    ssize_t n = write(c->wake_pipe[1], "", 1);
    (void)n;
}

/* From any thread of librdkafka. */
static void remember(void *arg, int level, const char *text)
{
    struct cli_trouble *t = arg;
    const char *what = strstr(text, "]: ");
    pthread_mutex_lock(&t->lock);
    /* A broker that closes the connection, as one with TLS does, is no error in that log; and what
     * a client reports while it is destroyed is none. */
    if (strstr(text, "Broker handle destroyed"))
        level = LOG_DEBUG;
    if (level <= LOG_ERR || (level <= LOG_INFO && !t->error)) {
        snprintf(t->text, sizeof t->text, "%s", what ? what + 3 : text);
        t->error = level <= LOG_ERR;
    }
    pthread_mutex_unlock(&t->lock);
}

const char *cli_trouble(struct cli *c, char out[300])
{
    pthread_mutex_lock(&c->trouble.lock);
    snprintf(out, 300, "%s%s", c->trouble.text[0] ? ": " : "", c->trouble.text);
    pthread_mutex_unlock(&c->trouble.lock);
    return out;
}

bool cli_wait(struct cli *c, int fd, int ms)
{
    struct pollfd fds[2] = {{.fd = c->wake_pipe[0], .events = POLLIN},
                            {.fd = fd, .events = POLLIN}};
    char drain[256];
    int64_t until = cli_now_ms() + ms;
    do {
        int64_t left = until - cli_now_ms();
        int slice = left < 0 ? 0 : left > 100 ? 100 : (int)left;
        if (poll(fds, 2, slice) > 0) {
            while (read(c->wake_pipe[0], drain, sizeof drain) > 0)
                ;
            return fd >= 0 && fds[1].revents != 0;
        }
    } while (!cli_stopping(c) && cli_now_ms() < until);
    return false;
}

void cli_sleep(struct cli *c, uint64_t ms)
{
    int64_t until = cli_now_ms() + (int64_t)ms;
    while (!cli_stopping(c) && cli_now_ms() < until) {
        int64_t left = until - cli_now_ms();
        cli_wait(c, -1, left > 100 ? 100 : (int)left);
    }
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t cli_now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

int64_t cli_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

const char *cli_user(char out[64])
{
    const struct passwd *user = getpwuid(geteuid());
    if (user && *user->pw_name)
        snprintf(out, 64, "%s", user->pw_name);
    else
        snprintf(out, 64, "uid %lu", (unsigned long)geteuid());
    return out;
}

void cli_say(const char *format, ...)
{
    va_list ap;
    fputs("fisctl: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
}

int cli_fail(const struct fis_error *e)
{
    cli_say("%s", e->text);
    return CLI_FAILED;
}

const char *cli_broker(const struct cli *c)
{
    return c->bootstrap ? c->bootstrap : config_kafka(&c->cfg, "bootstrap.servers");
}

static int find_broker(struct cli *c, struct fis_error *e)
{
    struct fis_error none;
    const char *given = cli_broker(c);
    int rc = stream_address_read(c->cfg.pipeline, c->running, given ? &none : e);
    if (!given && rc)
        return rc;
    c->broker = given ? given : c->running;
    c->embedded = !rc && !strcmp(c->broker, c->running);
    return 0;
}

int cli_broker_gone(const struct cli *c, struct fis_error *e)
{
    char running[STREAM_ADDRESS_MAX];
    struct fis_error none;
    if (!c->embedded)
        return 0;
    if (!stream_address_read(c->cfg.pipeline, running, &none) && !strcmp(c->broker, running))
        return 0;
    return fis_fail(e, FIS_FATAL, "the embedded broker of pipeline '%s' at %s has ended",
                    c->cfg.pipeline, c->broker);
}

static int make_client(struct cli *c, struct fis_error *e)
{
    uint32_t n = c->cfg.kafka.count;
    c->properties = fis_calloc((size_t)n + 1, sizeof *c->properties);
    if (!c->properties)
        return fis_fail(e, FIS_NOMEM, "no memory for %u kafka properties", n);
    binding_properties(&c->cfg, c->properties);
    c->properties[n] = (struct stream_property){"bootstrap.servers", c->broker};
    if (pipe(c->wake_pipe) || fcntl(c->wake_pipe[0], F_SETFL, O_NONBLOCK) ||
        fcntl(c->wake_pipe[1], F_SETFL, O_NONBLOCK))
        return fis_fail(e, FIS_FATAL, "no pipe: %s", strerror(errno));
    c->client = (struct stream_client){.properties = c->properties,
                                       .property_count = n + 1,
                                       .wake = wake,
                                       .wake_arg = c,
                                       .log = remember,
                                       .log_arg = &c->trouble};
    return 0;
}

int cli_answer_ms(const struct cli *c)
{
    return c->answered ? ANSWER_MS : MISSING_MS;
}

static int reach(struct cli *c, struct fis_error *e)
{
    char why[300];
    int rc = make_client(c, e);
    c->answered = !rc && stream_reachable(&c->client, SILENT_MS);
    if (!rc && !c->answered)
        cli_say("waiting for a broker at %s%s", c->broker, cli_trouble(c, why));
    return rc;
}

int cli_connect(struct cli *c, struct fis_error *e)
{
    c->broker = cli_broker(c);
    return reach(c, e);
}

int cli_open(struct cli *c, struct fis_error *e)
{
    int rc = config_load(c->config_path, &c->cfg, e);
    if (rc && !strcmp(c->config_path, standard_path) && access(standard_path, F_OK))
        return fis_fail(e, FIS_INPUT,
                        "no configuration: name it by -c FILE or $FISD_CONFIG; there is no %s here",
                        standard_path);
    if (!rc)
        rc = cli_take_kafka(c, e);
    if (rc)
        return rc;
    const struct config *cfg = &c->cfg;
    c->schema = config_validation_schema(cfg);
    c->records_encoding = config_wire_encoding(cfg->records.encoding);
    c->labels_encoding = config_wire_encoding(cfg->labels.encoding);
    rc = find_broker(c, e);
    return rc ? rc : reach(c, e);
}

void cli_done(struct cli *c)
{
    for (int i = 0; i < 2; i++)
        if (c->wake_pipe[i] >= 0)
            close(c->wake_pipe[i]);
    fis_free(c->properties);
    c->properties = NULL;
    c->wake_pipe[0] = c->wake_pipe[1] = -1;
    config_done(&c->cfg);
}
