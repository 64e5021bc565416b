/* MedMNIST's .npz. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/npz.h"
#include "fis/mem.h"
#include "lab/images.h"
#include "wire/json_text.h"

enum { PARTS = 3, CHANNELS_MAX = 4, SENSITIVE_MAX = 4 };
static const char *const names[PARTS] = {"train", "val", "test"};
static const enum lab_part parts[PARTS] = {LAB_TRAINING, LAB_VALIDATION, LAB_TEST};

struct reader {
    const char *path;
    struct data_npz *z;
    struct lab_images *out;
    struct data_array images[PARTS]; /* n_dims 0: this part is not there */
    struct data_rows *groups;        /* NULL: arrays */
    const char *groups_path;
    const char *const *sensitive;
    uint32_t n_sensitive;
    struct data_column columns[SENSITIVE_MAX];
    struct data_options options;
};

static void dims_text(const struct data_array *a, char out[96])
{
    size_t n = (size_t)snprintf(out, 96, "%s ", a->type);
    for (uint32_t i = 0; i < a->n_dims && n < 80; i++)
        n += (size_t)snprintf(out + n, 96 - n, "[%" PRIu64 "]", a->dims[i]);
}

static int find(struct reader *r, uint32_t part, const char *what, struct data_array *out,
                struct fis_error *e)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%s", names[part], what);
    return data_npz_find(r->z, name, out, e);
}

/* ---- images ---------------------------------------------------------------------------------- */

static int check_images(struct reader *r, const struct data_array *a, struct fis_error *e)
{
    char found[96];
    struct lab_images *o = r->out;
    const uint64_t channels = a->n_dims == 4 ? a->dims[3] : 1;
    dims_text(a, found);
    if (a->kind != 'u' || a->item != 1 || a->n_dims < 3 || a->n_dims > 4 || !a->dims[1] ||
        !a->dims[2] || channels < 1 || channels > CHANNELS_MAX || a->dims[1] > 1024 ||
        a->dims[2] > 1024)
        return fis_fail(e, FIS_INPUT,
                        "%s: %s: found %s; allowed are bytes (uint8) [images][height][width] or "
                        "[images][height][width][1 to %d channels]",
                        r->path, a->name, found, CHANNELS_MAX);
    if (o->height && (a->dims[1] != o->height || a->dims[2] != o->width || channels != o->channels))
        return fis_fail(e, FIS_INPUT, "%s: %s: found %s, images of train are %u x %u x %u", r->path,
                        a->name, found, o->height, o->width, o->channels);
    o->height = (uint32_t)a->dims[1];
    o->width = (uint32_t)a->dims[2];
    o->channels = (uint32_t)channels;
    if (o->n + a->dims[0] > INT32_MAX)
        return fis_fail(e, FIS_INPUT, "%s: %s: found %s, too many", r->path, a->name, found);
    o->n += (uint32_t)a->dims[0];
    return 0;
}

static int read_images(struct reader *r, struct fis_error *e)
{
    struct lab_images *o = r->out;
    int rc = 0;
    for (uint32_t p = 0; !rc && p < PARTS; p++) {
        if (parts[p] == LAB_VALIDATION && !data_npz_has(r->z, "val_images"))
            continue;
        rc = find(r, p, "images", &r->images[p], e);
        if (!rc)
            rc = check_images(r, &r->images[p], e);
    }
    if (rc)
        return rc;
    size_t at = 0;
    uint32_t row = 0;
    const size_t bytes = (size_t)o->n * lab_images_numbers(o);
    o->pixels = fis_alloc(bytes ? bytes : 1, 1);
    o->part = fis_alloc(o->n ? o->n : 1, 1);
    if (!o->pixels || !o->part)
        return fis_fail(e, FIS_NOMEM, "%s: no memory for %zu bytes of images", r->path, bytes);
    for (uint32_t p = 0; !rc && p < PARTS; p++) {
        if (!r->images[p].n_dims)
            continue;
        rc = data_npz_read(r->z, &r->images[p], o->pixels + at, e);
        at += r->images[p].bytes;
        for (uint64_t i = 0; i < r->images[p].dims[0]; i++)
            o->part[row++] = (uint8_t)parts[p];
    }
    return rc;
}

/* ---- labels and groups ----------------------------------------------------------------------- */

static int64_t whole(const struct data_array *a, const unsigned char *at)
{
    uint64_t n = 0;
    for (uint32_t i = a->item; i-- > 0;)
        n = n << 8 | at[i];
    const uint32_t bits = 8 * a->item;
    return a->kind == 'i' && bits < 64 && n >> (bits - 1) ? (int64_t)(n | ~UINT64_C(0) << bits)
                                                          : (int64_t)n;
}

/* A whole number an image; to be freed. */
static int read_numbers(struct reader *r, uint32_t part, const char *what, int64_t **out,
                        struct fis_error *e)
{
    struct data_array a;
    char found[96];
    int rc = find(r, part, what, &a, e);
    if (rc)
        return rc;
    const uint64_t n = r->images[part].dims[0];
    dims_text(&a, found);
    if (!strchr("uib", a.kind) || a.item > 8 || a.n_dims < 1 || a.dims[0] != n ||
        a.bytes != n * a.item)
        return fis_fail(e, FIS_INPUT,
                        "%s: %s: found %s; allowed is one whole number for each of the %" PRIu64
                        " images",
                        r->path, a.name, found, n);
    unsigned char *bytes = fis_alloc((size_t)a.bytes + 1, 1);
    int64_t *to = fis_alloc((size_t)n + 1, sizeof *to);
    if (!bytes || !to)
        rc = fis_fail(e, FIS_NOMEM, "%s: no memory", r->path);
    if (!rc)
        rc = data_npz_read(r->z, &a, bytes, e);
    for (uint64_t i = 0; !rc && i < n; i++)
        to[i] = whole(&a, bytes + i * a.item);
    fis_free(bytes);
    if (rc)
        fis_free(to);
    else
        *out = to;
    return rc;
}

/* The group columns of the next row of the file. */
static int add_file_groups(struct reader *r, struct byte_buffer *b, struct fis_error *e)
{
    struct fis_value values[SENSITIVE_MAX];
    int rc = data_rows_next(r->groups, values, e);
    if (rc == 0)
        return fis_fail(e, FIS_INPUT,
                        "%s: %" PRIu64 " rows; allowed is one for each of the %u images of %s: "
                        "train, val, test, in this order",
                        r->groups_path, data_rows_count(r->groups), r->out->n, r->path);
    rc = rc > 0 ? 0 : rc;
    for (uint32_t i = 0; !rc && i < r->n_sensitive; i++) {
        if (values[i].kind == FIS_VALUE_MISSING)
            return fis_fail(e, FIS_INPUT, "%s: line %" PRIu64 ": %s is missing", r->groups_path,
                            data_rows_line(r->groups), r->sensitive[i]);
        rc = byte_buffer_append(b, ",", 1, e);
        if (!rc)
            rc = wire_json_escape(b, r->sensitive[i], strlen(r->sensitive[i]), e);
        if (!rc)
            rc = byte_buffer_append(b, ":", 1, e);
        if (!rc)
            rc = wire_json_escape(b, values[i].text, values[i].length, e);
    }
    return rc;
}

static int add_part(struct reader *r, uint32_t part, struct data_table_builder *table,
                    struct fis_error *e)
{
    int64_t *labels = NULL, *groups = NULL;
    struct byte_buffer b = {0};
    char text[80];
    int rc = read_numbers(r, part, "labels", &labels, e);
    if (!rc && !r->groups)
        rc = read_numbers(r, part, "groups", &groups, e);
    for (uint64_t i = 0; !rc && i < r->images[part].dims[0]; i++) {
        int n = snprintf(text, sizeof text, "{\"label\":\"%" PRId64 "\"", labels[i]);
        if (groups)
            n += snprintf(text + n, sizeof text - (size_t)n, ",\"group\":\"%" PRId64 "\"",
                          groups[i]);
        b.length = 0;
        rc = byte_buffer_append(&b, text, (size_t)n, e);
        if (!rc && r->groups)
            rc = add_file_groups(r, &b, e);
        if (!rc)
            rc = byte_buffer_append(&b, "}", 1, e);
        if (!rc)
            rc = data_table_add(table, (struct wire_bytes){b.data, b.length}, e);
    }
    byte_buffer_done(&b);
    fis_free(labels);
    fis_free(groups);
    return rc;
}

static int no_groups(const struct reader *r, struct fis_error *e)
{
    return fis_fail(e, FIS_INPUT,
                    "%s: it has no groups (arrays train_groups, test_groups): give --groups FILE, "
                    "with a row for each of its images, and --sensitive COLUMN of it",
                    r->path);
}

static int open_groups(struct reader *r, const char *path, struct fis_error *e)
{
    if (!path)
        return data_npz_has(r->z, "train_groups") ? 0 : no_groups(r, e);
    if (!r->n_sensitive)
        return fis_fail(e, FIS_INPUT, "--groups requires --sensitive, its columns");
    for (uint32_t i = 0; i < r->n_sensitive; i++)
        r->columns[i] =
            (struct data_column){.name = r->sensitive[i], .cell = DATA_STRING, .secret = true};
    r->options = (struct data_options){.columns = r->columns, .n_columns = r->n_sensitive};
    r->groups_path = path;
    r->groups = data_rows_open(path, &r->options, e);
    return r->groups ? 0 : -(int)FIS_INPUT;
}

static int read_table(struct reader *r, struct fis_error *e)
{
    struct data_table_builder *table = data_table_begin(e);
    int rc = table ? 0 : -(int)FIS_NOMEM;
    struct fis_value left[SENSITIVE_MAX];
    for (uint32_t p = 0; !rc && p < PARTS; p++)
        if (r->images[p].n_dims)
            rc = add_part(r, p, table, e);
    if (!rc && r->groups && (rc = data_rows_next(r->groups, left, e)) == 1)
        rc = fis_fail(e, FIS_INPUT, "%s: line %" PRIu64 ": more rows than the %u images of %s",
                      r->groups_path, data_rows_line(r->groups), r->out->n, r->path);
    if (rc) {
        data_table_discard(table);
        return rc;
    }
    r->out->table = data_table_end(table, e);
    return r->out->table ? 0 : fis_error_prefix(e, "%s", r->path);
}

struct lab_images *lab_images_npz(const char *path, const char *groups,
                                  const char *const *sensitive, uint32_t n, struct fis_error *e)
{
    struct reader r = {.path = path, .sensitive = sensitive, .n_sensitive = n};
    int rc = (r.out = fis_calloc(1, sizeof *r.out)) ? 0 : fis_fail(e, FIS_NOMEM, "no memory");
    if (!rc && !(r.z = data_npz_open(path, e)))
        rc = -(int)FIS_INPUT;
    if (!rc)
        rc = open_groups(&r, groups, e);
    if (!rc)
        rc = read_images(&r, e);
    if (!rc)
        rc = read_table(&r, e);
    data_rows_close(r.groups);
    data_npz_close(r.z);
    if (!rc)
        return r.out;
    lab_images_free(r.out);
    return NULL;
}
