#include "daemon/trainer/trainer_files.h"

static int load(const struct pipeline *p, const char *path, const struct wire_schema *schema,
                int with_sensitive, struct fis_encoder **encoder, struct data_examples *rows,
                struct fis_error *e)
{
    struct data_source s = {.path = path,
                            .schema = schema,
                            .columns = p->columns,
                            .n_columns = p->n_columns,
                            .with_sensitive = with_sensitive};
    if (!*encoder && !(*encoder = data_fit_encoder(&s, p->cfg->features.max_categories, e)))
        return -1;
    return data_examples_load(&s, *encoder, rows, e) < 0 ? -1 : 0;
}

int trainer_files_initial(const struct pipeline *p, struct fis_encoder **encoder,
                          struct data_examples *rows, struct fis_error *e)
{
    return load(p, p->cfg->initial.file, &p->initial, 0, encoder, rows, e);
}

int trainer_files_validation(const struct pipeline *p, struct fis_encoder **encoder,
                             struct data_examples *rows, struct fis_error *e)
{
    return load(p, p->cfg->validation.file, &p->validation, 1, encoder, rows, e);
}

/* The encoder that the leader has may be another one, from the ledger: what it refuses of a row, it
 * refuses whatever it was fitted on. */
int trainer_files_check(const struct pipeline *p, struct fis_error *e)
{
    struct fis_encoder *encoder = NULL;
    struct data_examples initial = {0}, validation = {0};
    int rc = 0;
    if (p->cfg->initial.source == CONFIG_FILE)
        rc = trainer_files_initial(p, &encoder, &initial, e);
    if (rc == 0 && p->cfg->validation.source == CONFIG_FILE) {
        rc = trainer_files_validation(p, &encoder, &validation, e);
        if (rc == 0 && validation.names.n < 2)
            rc =
                fis_fail(e, FIS_FATAL, "the validation set has %u group: fairness needs at least 2",
                         validation.names.n);
    }
    data_examples_done(&initial);
    data_examples_done(&validation);
    fis_encoder_free(encoder);
    return rc;
}
