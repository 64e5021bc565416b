/* Inside fisctl init: what the command reads, and what it reports of it. */
#ifndef CLI_INIT_IMPL_H
#define CLI_INIT_IMPL_H

#include "cli/command_table.h"
#include "init/init_files.h"

enum { INIT_TEXT = 256, INIT_PATH = 4096 };

struct init_options {
    const char *label, *sensitive, *id, *positive, *stream, *pipeline, *output;
    struct cli_properties registry;
    uint64_t initial, validation, seed;
    bool split;
    struct data_reading read;
};

struct init {
    const struct init_options *o;
    struct config_properties registry; /* as given; c->cfg has what it comes to */
    const char *path;                  /* of the table */
    struct data_table *table, *stream; /* stream: a file, or a sample of a topic; NULL: neither */
    bool is_topic;                     /* o->stream */
    bool looked;                       /* a broker was asked for it */
    bool framed;                       /* records of the topic have Confluent's frame */
    uint64_t sampled, unreadable;      /* records of the topic */
    struct init_survey s;
    uint8_t *part;                    /* [rows] with --split */
    uint32_t n_initial, n_validation; /* rows of the files */
    char name[INIT_TEXT], folder[INIT_PATH], config[INIT_PATH];
};

int init_report(const struct init *n, struct fis_error *e) FIS_MUST_CHECK;
/* After the split: rows that are in two of its files. */
int init_report_split(const struct init *n, struct fis_error *e) FIS_MUST_CHECK;

/* The first records of a topic, as a table; NULL in n->stream when none is JSON. */
int init_sample(struct init *n, struct cli *c, struct fis_error *e) FIS_MUST_CHECK;

#endif
