/*
 * The simulation's program: runs seeds on two processes and says what was tried, or the first seed
 * that showed something wrong.
 *
 *   sim [--seeds n] [--first seed] [--workers n] [--trace] [--plant name] [--plants]
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/planted.h"
#include "sim_run.h"
#include "wire/json_codec.h"

#define WORKERS 8
#define TWICE 50 /* one seed in so many */

void openblas_set_num_threads(int n);

struct options {
    uint64_t first, seeds;
    uint32_t workers;
    bool trace;
    const char *planted;
};

/* Seen by all of the processes. */
struct shared {
    volatile bool failed;
    volatile uint64_t current[WORKERS];
    struct sim_totals totals[WORKERS];
};

/* A seed that cannot be run again is worth nothing: now and then one is run twice. */
static bool run_one(const struct options *o, uint64_t seed, struct sim_totals *totals)
{
    uint64_t once, again;
    struct sim_totals ignored = {0};
    if (!sim_run(seed, o->trace, o->planted, totals, &once))
        return false;
    if (seed % TWICE || o->trace || !sim_run(seed, false, o->planted, &ignored, &again))
        return true;
    if (once != again)
        printf("\nseed %llu: run twice, it went two ways\n", (unsigned long long)seed);
    return once == again;
}

static void work(const struct options *o, struct shared *s, uint32_t me)
{
    struct sim_totals totals = {0};
    for (uint64_t i = me; i < o->seeds && !s->failed; i += o->workers) {
        s->current[me] = o->first + i;
        if (!run_one(o, o->first + i, &totals)) {
            s->failed = true;
            break;
        }
    }
    s->totals[me] = totals;
}

static bool wait_for(const struct options *o, struct shared *s, pid_t pid, uint32_t me)
{
    int status;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    unsigned long long seed = s->current[me];
    s->failed = true;
    printf(
        "\nseed %llu: the program died (%s %d)\n  again: make sim SEED=%llu SEEDS=1 TRACE=1%s%s\n",
        seed, WIFSIGNALED(status) ? "signal" : "status",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), seed,
        o->planted ? " PLANT=" : "", o->planted ? o->planted : "");
    return false;
}

static void run_all(const struct options *o, struct shared *s)
{
    pid_t pids[WORKERS];
    if (o->workers == 1) { /* so that a debugger has it easy */
        work(o, s, 0);
        return;
    }
    fflush(stdout);
    for (uint32_t i = 0; i < o->workers; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            work(o, s, i);
            fflush(stdout);
            _exit(0);
        }
    }
    for (uint32_t i = 0; i < o->workers; i++)
        wait_for(o, s, pids[i], i);
}

static void sum(const struct options *o, const struct shared *s, struct sim_totals *all)
{
    for (uint32_t i = 0; i < o->workers; i++) {
        const uint64_t *from = (const uint64_t *)&s->totals[i];
        uint64_t *to = (uint64_t *)all;
        for (size_t k = 0; k < sizeof *all / sizeof *to; k++)
            to[k] += from[k];
    }
}

static void say(const struct options *o, const struct shared *s, double seconds)
{
    struct sim_totals t = {0};
    sum(o, s, &t);
    printf("%llu seeds from %llu in %.1f s: %llu steps, %.1f hours of virtual time\n",
           (unsigned long long)t.seeds, (unsigned long long)o->first, seconds,
           (unsigned long long)t.steps, (double)t.virtual_ms / 3600000);
    printf("  %llu leaders, %llu commits, %llu requests, %llu answers used, %llu versions, %llu "
           "scans, %llu halts, %llu forgotten\n ",
           (unsigned long long)t.leaders, (unsigned long long)t.units,
           (unsigned long long)t.requests, (unsigned long long)t.answers,
           (unsigned long long)t.versions, (unsigned long long)t.scans,
           (unsigned long long)t.halts, (unsigned long long)t.forgotten);
    for (int i = 0; i < SIM_FAULT_KINDS; i++)
        printf(" %llu %s%s", (unsigned long long)t.faults[i], sim_fault_names[i],
               i + 1 < SIM_FAULT_KINDS ? "," : "\n");
}

static int list_plants(void)
{
    for (uint32_t i = 1; i < planted_count(); i++)
        puts(planted_name(i));
    return 0;
}

static uint64_t number(const char *text)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    if (*end || end == text) {
        fprintf(stderr, "sim: \"%s\" is no number\n", text);
        exit(2);
    }
    return n;
}

static void parse(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"seeds", 1, NULL, 's'}, {"first", 1, NULL, 'f'}, {"workers", 1, NULL, 'w'},
        {"trace", 0, NULL, 't'}, {"plant", 1, NULL, 'p'}, {"plants", 0, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    int c;
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (c == 's')
            o->seeds = number(optarg);
        else if (c == 'f')
            o->first = number(optarg);
        else if (c == 'w')
            o->workers = (uint32_t)number(optarg);
        else if (c == 't')
            o->trace = true;
        else if (c == 'p')
            o->planted = *optarg ? optarg : NULL;
        else
            exit(c == 'l' ? list_plants() : 2);
    if (o->workers < 1 || o->workers > WORKERS || o->trace)
        o->workers = 1;
    if (o->planted && planted_choose(o->planted) < 0) {
        fprintf(stderr, "sim: no fault is planted by the name of %s in this build\n", o->planted);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct options o = {.first = 1, .seeds = 1000, .workers = 2};
    struct timespec from, to;
    parse(argc, argv, &o);
    openblas_set_num_threads(1);
    wire_json_init();
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &from);
    run_all(&o, s);
    clock_gettime(CLOCK_MONOTONIC, &to);
    say(&o, s, (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
    return s->failed ? 1 : 0;
}
