/* Decoding and scoring of records in memory, as the scorer's worker does it: a line with the ns for
 * one record of each round, and the bytes of a record. */
#include "bench.h"

#include "fis/mem.h"
#include "role/scoring.h"
#include "wire/head.h"

#define BATCH 4096u
#define SELECTED 4 /* of each criterion, in a batch */

static struct scoring_head *head_of(uint32_t d, uint32_t hidden, uint32_t classes,
                                    const char *scale)
{
    struct wire_head_owned owned;
    bench_head_make(&owned, d, hidden, classes, scale);
    struct scoring_head *head = scoring_head_take(&owned);
    if (!head)
        die("no memory");
    wire_head_done(&owned);
    return head;
}

static double fill(struct scoring_batch *b, const char *kind, uint32_t d)
{
    static char keys[BATCH][12];
    struct maker *m = maker_new(kind, d);
    size_t bytes = 0;
    for (uint32_t i = 0; i < BATCH; i++) {
        const unsigned char *value;
        size_t length = maker_record(m, i, &value);
        int n = snprintf(keys[i], sizeof keys[i], "r%u", i);
        b->messages[i] =
            (struct wire_message){.topic = "records",
                                  .offset = i,
                                  .timestamp_ms = 1,
                                  .key = {keys[i], (size_t)n},
                                  .value = {fis_memdup((const char *)value, length), length}};
        bytes += length;
    }
    b->n = BATCH;
    maker_free(m);
    return (double)bytes / BATCH;
}

static int downwards(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* As a scorer has them for most of its time: few reach them. */
static void raise_floors(struct scoring_batch *b)
{
    float scores[BATCH];
    for (uint32_t c = 0; c < FIS_MAX_CRITERIA; c++) {
        for (uint32_t i = 0; i < b->rows; i++)
            scores[i] = b->scores[i * FIS_MAX_CRITERIA + c];
        qsort(scores, b->rows, sizeof *scores, downwards);
        b->floors[c] = scores[SELECTED];
    }
}

int bench_score(int argc, char **argv)
{
    static const char *const classes[] = {"no", "yes"};
    static const struct {
        const char *kind;
        enum wire_encoding encoding;
    } kinds[] = {{"raw", WIRE_RAW},
                 {"protobuf", WIRE_PROTOBUF},
                 {"onehot", WIRE_PROTOBUF},
                 {"sparse", WIRE_PROTOBUF},
                 {"json", WIRE_JSON}};
    uint32_t rounds = argc ? number(argv[0]) : 9, d = argc > 1 ? number(argv[1]) : 104;
    struct wire_schema schema = {
        .classes = classes, .n_classes = 2, .id_column = "id", .max_bytes = 1 << 20};
    struct scoring_batch b[5];
    struct scoring_options o[5];
    double bytes[5], ns[5][101];
    struct fis_error e;
    struct scoring_head *head = head_of(d, 64, 2, argc > 2 ? argv[2] : "none");
    for (int k = 0; k < 5; k++) {
        o[k] = (struct scoring_options){.schema = &schema,
                                        .encoding = kinds[k].encoding,
                                        .criteria = {.acquisition = &fis_acquisition_fis_plus},
                                        .capacity = BATCH};
        if (scoring_batch_init(&b[k], &o[k], &e) < 0 ||
            scoring_batch_prepare(&b[k], head, NULL, &e) < 0)
            die("%s", e.text);
        bytes[k] = fill(&b[k], kinds[k].kind, d);
    }
    for (uint32_t r = 0; r <= rounds && r <= 100; r++)
        for (int k = 0; k < 5; k++) {
            if (argc > 3 && strcmp(argv[3], kinds[k].kind) != 0)
                continue;
            int repeat = k == 4 ? 1 : 8;
            double t = thread_s();
            for (int i = 0; i < repeat; i++)
                scoring_run(&b[k]);
            ns[k][r] = 1e9 * (thread_s() - t) / BATCH / repeat;
            if (b[k].rows != BATCH)
                die("%s: %s", kinds[k].kind, b[k].errors[0].text);
            if (r == 0)
                raise_floors(&b[k]);
        }
    for (int k = 0; k < 5; k++) {
        if (argc > 3 && strcmp(argv[3], kinds[k].kind) != 0)
            continue;
        printf("%s %.1f", kinds[k].kind, bytes[k]);
        for (uint32_t r = 1; r <= rounds && r <= 100; r++)
            printf(" %.1f", ns[k][r]);
        printf("\n");
    }
    return 0;
}
