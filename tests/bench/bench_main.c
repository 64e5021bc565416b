#include "bench.h"

#include <cblas.h>
#include <stdarg.h>
#include <time.h>

#include "fis/network.h"
#include "wire/json_codec.h"

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double wall_s(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double thread_s(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

void nap_us(unsigned us)
{
    struct timespec t = {us / 1000000, (long)(us % 1000000) * 1000};
    nanosleep(&t, NULL);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

uint32_t number(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || end == text || n > UINT32_MAX)
        die("'%s' is not a number", text);
    return (uint32_t)n;
}

void conf_set(rd_kafka_conf_t *conf, const char *key, const char *value)
{
    char text[200];
    if (rd_kafka_conf_set(conf, key, value, text, sizeof text) != RD_KAFKA_CONF_OK)
        die("%s", text);
}

rd_kafka_conf_t *conf_for(const char *broker)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    conf_set(conf, "bootstrap.servers", broker);
    return conf;
}

rd_kafka_t *client(rd_kafka_type_t type, rd_kafka_conf_t *conf)
{
    char text[200];
    rd_kafka_t *rk = rd_kafka_new(type, conf, text, sizeof text);
    if (!rk)
        die("%s", text);
    return rk;
}

int partitions_of(rd_kafka_t *rk, rd_kafka_topic_t *rkt)
{
    for (double until = wall_s() + 60; wall_s() < until; nap_us(20000)) {
        const struct rd_kafka_metadata *md;
        if (rd_kafka_metadata(rk, 0, rkt, &md, 10000))
            continue;
        int n = md->topic_cnt == 1 && !md->topics[0].err ? md->topics[0].partition_cnt : 0;
        rd_kafka_metadata_destroy(md);
        if (n > 0)
            return n;
    }
    die("topic %s is not there", rd_kafka_topic_name(rkt));
}

static const struct command {
    const char *name, *arguments;
    int arguments_min;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"kernel", "[rounds]", 0, bench_kernel},
    {"images", "[rounds]", 0, bench_images},
    {"decode", "[rounds]", 0, bench_decode},
    {"refresh", "[rounds]", 0, bench_refresh},
    {"topic", "BROKER NAME PARTITIONS [key=value …]", 3, bench_topic},
    {"feed", "BROKER TOPIC KIND D RECORDS [RATE]", 5, bench_feed},
    {"head", "BROKER TOPIC PIPELINE D HIDDEN CLASSES SCALE [VERSION]", 7, bench_head},
    {"drain", "BROKER TOPIC RECORDS BATCH PAUSE_US WHAT", 6, bench_drain},
    {"score", "[rounds] [d] [scale] [kind]", 0, bench_score},
    {"predict", "[rounds] [d]", 0, bench_predict},
    {"progress", "BROKER TOPIC RECORDS [FROM]", 3, bench_progress},
};

int main(int argc, char **argv)
{
    /* As fisd does. */
    openblas_set_num_threads(1);
    fis_flush_denormals();
    wire_json_init();
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0 && argc - 2 >= commands[i].arguments_min)
            return commands[i].run(argc - 2, argv + 2);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(stderr, "bench %s %s\n", commands[i].name, commands[i].arguments);
    return 2;
}
