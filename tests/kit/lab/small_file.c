#include "kit/lab/small_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void synthetic_row(FILE *f, struct fis_rng *rng, uint32_t classes, uint32_t groups)
{
    static const char *const colours[] = {"blue", "green", "red"};
    uint32_t group = fis_rng_below(rng, groups), colour = fis_rng_below(rng, 3), best = 0;
    double x[5], most = -1e9, shift = groups > 1 ? (double)group / (groups - 1) - .5 : 0;
    for (int i = 0; i < 5; i++)
        x[i] = fis_rng_normal(rng) + (i < 2 ? shift : 0);
    for (uint32_t k = 0; k < classes; k++) {
        double score = (k ? x[k % 5] + .8 * shift : .3) + (colour == k % 3 ? .4 : 0) +
                       .8 * fis_rng_normal(rng);
        best = score > most ? k : best;
        most = score > most ? score : most;
    }
    for (int i = 0; i < 5; i++)
        fprintf(f, "%.4f,", x[i]);
    fprintf(f, "%s,g%u,c%u\n", colours[colour], group, best);
}

int synthetic_make(struct synthetic *s, uint32_t rows, uint32_t classes, uint32_t groups)
{
    struct fis_rng rng;
    struct fis_error e;
    *s = (struct synthetic){.folder = "/tmp/fisd-lab-XXXXXX"};
    if (!mkdtemp(s->folder))
        return -1;
    snprintf(s->path, sizeof s->path, "%s/rows.csv", s->folder);
    FILE *f = fopen(s->path, "w");
    if (!f)
        return -1;
    fprintf(f, "a,b,c,d,e,colour,group,label\n");
    fis_rng_seed(&rng, 7, classes * 64 + groups);
    for (uint32_t i = 0; i < rows; i++)
        synthetic_row(f, &rng, classes, groups);
    fclose(f);
    /* Half of the rows to validation and test: 1,000 validation rows ask for cross-fit. */
    const struct lab_protocol p = {.test = .5,
                                   .validation = .5,
                                   .initial = .1,
                                   .rounds = 3,
                                   .labels_per_round = 40,
                                   .warm_up_epochs = 4,
                                   .steps_per_round = 24,
                                   .hidden = 8,
                                   .batch = 32,
                                   .learning_rate = .02f,
                                   .momentum = .9f,
                                   .weight_decay = 5e-4f};
    s->spec = (struct lab_task_spec){.name = "synthetic",
                                     .file = s->path,
                                     .label = "label",
                                     .sensitive = {"group"},
                                     .protocol = {p, p}};
    s->table = data_table_read(s->path, &(struct data_options){.n_columns = 0}, &e);
    s->task = s->table ? lab_task_open(&s->spec, s->table, NULL, &e) : NULL;
    if (!s->task)
        fprintf(stderr, "%s\n", e.text);
    return s->task ? 0 : -1;
}

void synthetic_done(struct synthetic *s)
{
    lab_task_free(s->task);
    data_table_free(s->table);
    unlink(s->path);
    rmdir(s->folder);
}
