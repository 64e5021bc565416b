#include "daemon/trainer_files.h"

#include "data/examples.h"

static struct data_source source(const struct pipeline *p, const char *path,
                                 const struct wire_schema *schema, int with_sensitive)
{
    return (struct data_source){.path = path,
                                .schema = schema,
                                .columns = p->columns,
                                .n_columns = p->n_columns,
                                .with_sensitive = with_sensitive};
}

/* *encoder: NULL, or the one of the initial set. The encoder that the leader has may be another
 * one, from the ledger: what it refuses of a row, it refuses whatever it was fitted on. */
static int read_once(const struct pipeline *p, const struct data_source *s,
                     struct fis_encoder **encoder, uint32_t *groups, struct fis_error *e)
{
    struct data_examples rows;
    if (!*encoder && !(*encoder = data_fit_encoder(s, p->cfg->features.max_categories, e)))
        return -1;
    if (data_examples_load(s, *encoder, &rows, e) < 0)
        return -1;
    *groups = rows.names.n;
    data_examples_done(&rows);
    return 0;
}

int trainer_files_check(const struct pipeline *p, struct fis_error *e)
{
    const struct config *cfg = p->cfg;
    struct fis_encoder *encoder = NULL;
    struct data_source initial = source(p, cfg->initial.file, &p->initial, 0);
    struct data_source validation = source(p, cfg->validation.file, &p->validation, 1);
    uint32_t none, groups = 2;
    int rc = 0;
    if (cfg->initial.source == CONFIG_FILE)
        rc = read_once(p, &initial, &encoder, &none, e);
    if (rc == 0 && cfg->validation.source == CONFIG_FILE)
        rc = read_once(p, &validation, &encoder, &groups, e);
    if (rc == 0 && groups < 2)
        rc = fis_fail(e, FIS_FATAL, "the validation set has %u group: fairness needs at least 2",
                      groups);
    fis_encoder_free(encoder);
    return rc;
}
