/* The way of a line to standard error: limits by kind, a bounded buffer, and the writer's thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log_impl.h"

#define ROOM ((size_t)512 << 10)
#define KINDS 128
#define WINDOW_NS ((int64_t)LOG_WINDOW_SECONDS * 1000000000)
/* Writing is tried again so long after an error; windows end with this delay at most. */
#define PAUSE_NS 1000000000

/* Lines of one level and event within a window. */
struct kind {
    enum log_level level;
    char event[32];
    int64_t ends_ns;
    uint32_t seen, limit;
};

/* The log belongs to the process, as standard error does. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more, end;
    bool threaded, ending, ended;
    char ring[ROOM];
    size_t head, used;
    uint64_t unreported; /* lost since the last report */
    struct log_counts counts;
    struct kind kinds[KINDS];
    uint32_t n_kinds;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- the buffer; all under the lock ---------------------------------------------------------- */

static void add(const char *line, size_t length)
{
    size_t at = (state.head + state.used) % ROOM, first = ROOM - at < length ? ROOM - at : length;
    memcpy(state.ring + at, line, first);
    memcpy(state.ring, line + first, length - first);
    state.used += length;
    pthread_cond_signal(&state.more);
}

static void lose(void)
{
    state.counts.lost++;
    state.unreported++;
}

static void report_lost(void)
{
    char line[LOG_LINE];
    add(line, log_format(line, LOG_LEVEL_WARN, "log",
                         "lost=%llu text=\"standard error was not read, or could not be written: "
                         "this many lines are missing here\"",
                         (unsigned long long)state.unreported));
    state.unreported = 0;
}

/* After a loss the buffer empties by half first: one report for many lines. */
static void append(const char *line, size_t length)
{
    size_t most = state.unreported ? ROOM / 2 : ROOM - 2 * LOG_LINE;
    if (state.used > most) {
        lose();
        return;
    }
    if (state.unreported)
        report_lost();
    add(line, length);
}

/* The next line, without taking it off; its length. */
static size_t front(char line[LOG_LINE])
{
    size_t n = 0;
    do
        line[n] = state.ring[(state.head + n) % ROOM];
    while (line[n++] != '\n');
    return n;
}

/* ---- limits by kind; all under the lock ------------------------------------------------------ */

static struct kind *kind_of(enum log_level level, const char *event)
{
    struct kind *k = state.kinds, *end = k + state.n_kinds;
    for (; k < end; k++)
        if (k->level == level && !strncmp(k->event, event, sizeof k->event - 1))
            return k;
    if (state.n_kinds == KINDS)
        return NULL;
    state.n_kinds++;
    *k = (struct kind){.level = level, .limit = LOG_FIRST};
    strncpy(k->event, event, sizeof k->event - 1);
    return k;
}

/* A kind that exceeded its limit has a lower one in the next window. */
static void end_window(struct kind *k)
{
    uint32_t more = k->seen > k->limit ? k->seen - k->limit : 0;
    char line[LOG_LINE];
    if (more)
        append(line, log_format(line, k->level, k->event,
                                "repeated=%u text=\"so many more lines of this kind came within "
                                "%d s; the first %u are above\"",
                                more, LOG_WINDOW_SECONDS, k->limit));
    k->limit = more ? LOG_FURTHER : LOG_FIRST;
    k->seen = 0;
}

/* Ends the windows that are over, or all of them; whether a summary is still due later. */
static bool end_windows(int64_t now, bool all)
{
    bool due = false;
    for (struct kind *k = state.kinds; k < state.kinds + state.n_kinds; k++)
        if (all || now >= k->ends_ns)
            end_window(k);
        else
            due |= k->seen > k->limit;
    return due;
}

bool log_admit(enum log_level level, const char *event)
{
    bool admitted = true;
    if (level == LOG_LEVEL_DEBUG)
        return true;
    pthread_mutex_lock(&state.lock);
    struct kind *k = state.threaded ? kind_of(level, event) : NULL;
    if (k) {
        int64_t now = now_ns();
        if (now >= k->ends_ns) {
            end_window(k);
            k->ends_ns = now + WINDOW_NS;
        }
        admitted = ++k->seen <= k->limit;
        state.counts.summed += !admitted;
        if (k->seen == k->limit + 1)
            pthread_cond_signal(&state.more);
    }
    pthread_mutex_unlock(&state.lock);
    return admitted;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Whole, unless standard error is closed, its disk full, or the like. */
static bool write_whole(const char *line, size_t length)
{
    while (length > 0) {
        ssize_t n = write(STDERR_FILENO, line, length);
        if (n > 0) {
            line += n;
            length -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void wait_for(pthread_cond_t *what, int64_t ns)
{
    int64_t until = now_ns() + ns;
    struct timespec ts = {until / 1000000000, until % 1000000000};
    pthread_cond_timedwait(what, &state.lock, &ts);
}

/* Without the lock while it writes: who logs never waits for who reads. */
static void write_front(void)
{
    char line[LOG_LINE];
    size_t length = front(line);
    state.head = (state.head + length) % ROOM;
    state.used -= length;
    pthread_mutex_unlock(&state.lock);
    bool ok = write_whole(line, length);
    pthread_mutex_lock(&state.lock);
    state.counts.written += ok;
    if (!ok) {
        lose();
        if (!state.ending)
            wait_for(&state.more, PAUSE_NS);
    }
}

static void *write_lines(void *arg)
{
    pthread_mutex_lock(&state.lock);
    for (;;) {
        bool due = end_windows(now_ns(), state.ending);
        if (state.used == 0 && state.unreported && !state.ending)
            report_lost();
        if (state.used > 0) {
            write_front();
            continue;
        }
        if (state.ending)
            break;
        if (due)
            wait_for(&state.more, PAUSE_NS);
        else
            pthread_cond_wait(&state.more, &state.lock);
    }
    state.ended = true;
    pthread_cond_broadcast(&state.end);
    pthread_mutex_unlock(&state.lock);
    return arg;
}

void log_put(const char *line, size_t length)
{
    pthread_mutex_lock(&state.lock);
    bool threaded = state.threaded;
    if (threaded)
        append(line, length);
    pthread_mutex_unlock(&state.lock);
    if (!threaded) /* a log that cannot be written is nothing to stop for */
        (void)write_whole(line, length);
}

/* ---- the thread's life ----------------------------------------------------------------------- */

void log_reserve_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int log_start(struct fis_error *e)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&state.more, &clock);
    pthread_cond_init(&state.end, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_lock(&state.lock);
    state.ending = state.ended = false;
    state.n_kinds = 0;
    pthread_t thread;
    state.threaded = pthread_create(&thread, NULL, write_lines, NULL) == 0;
    if (state.threaded)
        pthread_detach(thread);
    bool started = state.threaded;
    pthread_mutex_unlock(&state.lock);
    return started ? 0 : fis_fail(e, FIS_FATAL, "no thread can be made for the log");
}

void log_stop(void)
{
    pthread_mutex_lock(&state.lock);
    int64_t until = now_ns() + (int64_t)LOG_PATIENCE_MS * 1000000, left;
    state.ending = true;
    pthread_cond_signal(&state.more);
    while (state.threaded && !state.ended && (left = until - now_ns()) > 0)
        wait_for(&state.end, left);
    /* A thread that hangs in a write ends with the process; no line overtakes it. */
    if (state.ended)
        state.threaded = false;
    pthread_mutex_unlock(&state.lock);
}

struct log_counts log_counts(void)
{
    pthread_mutex_lock(&state.lock);
    struct log_counts counts = state.counts;
    pthread_mutex_unlock(&state.lock);
    return counts;
}
