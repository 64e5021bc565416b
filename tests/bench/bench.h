/*
 * One program for what `make bench` needs done in C: the inputs, the bare loops that fisd is held
 * against, and the measurements that need no broker. bench.py runs it and makes figures of what it
 * prints. Each command stops with a message when something is wrong.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/error.h"

#define BENCH_SEED 1

_Noreturn void die(const char *format, ...) FIS_PRINTF(1, 2);
double wall_s(void);   /* monotonic */
double thread_s(void); /* CPU time of this thread */
void nap_us(unsigned us);
double median(double *values, int n); /* sorts */
uint32_t number(const char *text);

rd_kafka_conf_t *conf_for(const char *broker);
void conf_set(rd_kafka_conf_t *conf, const char *key, const char *value);
rd_kafka_t *client(rd_kafka_type_t type, rd_kafka_conf_t *conf);
/* The partitions of a topic, which is waited for. */
int partitions_of(rd_kafka_t *rk, rd_kafka_topic_t *rkt);

int bench_kernel(int argc, char **argv);
int bench_images(int argc, char **argv);
int bench_decode(int argc, char **argv);
int bench_refresh(int argc, char **argv);
int bench_topic(int argc, char **argv);
int bench_feed(int argc, char **argv);
int bench_head(int argc, char **argv);
int bench_drain(int argc, char **argv);
int bench_progress(int argc, char **argv);
int bench_score(int argc, char **argv);
int bench_predict(int argc, char **argv);

struct wire_head_owned;
/* A head of random numbers; d numeric columns, scale "none", "standard", "adult"
 * or "trees" (none, over a base of them). */
void bench_head_make(struct wire_head_owned *head, uint32_t d, uint32_t hidden, uint32_t classes,
                     const char *scale);

/* Records as they are written to a topic: kind is protobuf, raw, json, onehot (protobuf, dense) or
 * sparse (the same records as index and value). The i-th of a kind and width is always the same. */
struct maker;
struct maker *maker_new(const char *kind, uint32_t d);
size_t maker_record(struct maker *m, uint64_t i, const unsigned char **value);
void maker_free(struct maker *m);

#endif
