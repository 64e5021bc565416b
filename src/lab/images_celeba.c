/* CelebA's own layout. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fis/mem.h"
#include "image/image.h"
#include "lab/images.h"
#include "lab/pool.h"

#define ATTRIBUTES "list_attr_celeba.txt"
#define PARTITION "list_eval_partition.txt"
#define FOLDER "img_align_celeba"
#define PATH_ROOM 4096
#define NAME_ROOM 64
#define JPEG_MAX ((size_t)16 << 20)
#define PIXELS_MAX ((uint64_t)64 << 20)
#define TOGETHER 256u /* images of a job */
enum {
    IMAGES_MAX = 10000000,
    COLUMNS_MAX = 256,
    VALIDATION = 1,
    TEST = 2
}; /* parts of the layout; 0: training */

/* A text file of words, line by line. */
struct list {
    char path[PATH_ROOM];
    FILE *f;
    char *line;
    size_t room;
    uint64_t number; /* of the line, from 1 */
    char *words[COLUMNS_MAX];
    uint32_t n;
};

struct celeba {
    const char *folder;
    const char *const *columns; /* [n_columns] */
    uint32_t n_columns;
    uint32_t place[COLUMNS_MAX]; /* of each among the words of a line, from 1 */
    uint32_t count, words;       /* images that the list announces; words of a line */
    struct list attributes, partition;
    struct lab_images *out;
    char (*names)[NAME_ROOM]; /* [out->n] */
    uint32_t *lines;          /* [out->n] of the attributes */
    struct data_table_builder *table;
};

/* ---- lists ----------------------------------------------------------------------------------- */

static int open_list(struct list *l, const char *folder, const char *name, struct fis_error *e)
{
    const int n = snprintf(l->path, sizeof l->path, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof l->path)
        return fis_fail(e, FIS_INPUT, "%s: the name is too long", folder);
    if (!(l->f = fopen(l->path, "r")))
        return fis_fail(e, FIS_INPUT, "%s: %s; CelebA's folder has %s, %s and %s/", l->path,
                        strerror(errno), ATTRIBUTES, PARTITION, FOLDER);
    return 0;
}

static void close_list(struct list *l)
{
    if (l->f)
        fclose(l->f);
    free(l->line); /* getline's */
}

/* The next line that has words; 0: the end. */
static int next_line(struct list *l, struct fis_error *e)
{
    for (l->n = 0; l->n == 0;) {
        char *at;
        if (getline(&l->line, &l->room, l->f) < 0)
            return ferror(l->f) ? fis_fail(e, FIS_INPUT, "%s: %s", l->path, strerror(errno)) : 0;
        l->number++;
        for (char *word = strtok_r(l->line, " \t\r\n", &at); word && l->n < COLUMNS_MAX;
             word = strtok_r(NULL, " \t\r\n", &at))
            l->words[l->n++] = word;
    }
    return 1;
}

#define AT_LINE "%s: line %llu: "
#define LINE(l) (l)->path, (unsigned long long)(l)->number

static int find_columns(struct celeba *c, struct fis_error *e)
{
    const struct list *l = &c->attributes;
    for (uint32_t i = 0; i < c->n_columns; i++) {
        uint32_t at = 0;
        while (at < l->n && strcmp(l->words[at], c->columns[i]))
            at++;
        if (at == l->n) {
            data_no_column(c->columns[i], (const char *const *)l->words, l->n, e);
            return fis_error_prefix(e, "%s: line %llu", LINE(l));
        }
        c->place[i] = at + 1;
    }
    c->words = 1 + l->n;
    return 0;
}

/* The count, and the line of names. */
static int read_head(struct celeba *c, struct fis_error *e)
{
    struct list *l = &c->attributes;
    int rc = next_line(l, e);
    char *end = NULL;
    const unsigned long n = rc > 0 && l->n == 1 ? strtoul(l->words[0], &end, 10) : 0;
    if (rc < 0)
        return rc;
    if (!end || *end || n < 1 || n > IMAGES_MAX)
        return fis_fail(e, FIS_INPUT,
                        "%s: line 1: found '%s%s', allowed is the number of images alone", l->path,
                        rc ? l->words[0] : "", l->n > 1 ? " …" : "");
    c->count = (uint32_t)n;
    rc = next_line(l, e);
    return rc < 0 ? rc : find_columns(c, e);
}

static int add_row(struct celeba *c, struct fis_error *e)
{
    const struct list *l = &c->attributes;
    char text[PATH_ROOM];
    size_t at = 0;
    for (uint32_t i = 0; i < c->n_columns; i++) {
        const char *value = l->words[c->place[i]];
        const bool yes = !strcmp(value, "1");
        if (!yes && strcmp(value, "-1"))
            return fis_fail(e, FIS_INPUT, AT_LINE "%s: %s: found '%s', allowed are 1 and -1",
                            LINE(l), l->words[0], c->columns[i], value);
        at += (size_t)snprintf(text + at, sizeof text - at, "%c\"%s\":%d", i ? ',' : '{',
                               c->columns[i], yes);
    }
    text[at++] = '}';
    return data_table_add(c->table, (struct wire_bytes){text, at}, e);
}

/* For as many images as the list announces: no more are read. */
static int make_room(struct celeba *c, struct fis_error *e)
{
    c->names = fis_calloc(c->count, sizeof *c->names);
    c->lines = fis_calloc(c->count, sizeof *c->lines);
    c->out->part = fis_calloc(c->count, 1);
    return c->names && c->lines && c->out->part
               ? 0
               : fis_fail(e, FIS_NOMEM, "%s: no memory for %u images", c->folder, c->count);
}

/* A line of each list, which must be of one image. */
static int read_image(struct celeba *c, struct fis_error *e)
{
    struct list *l = &c->attributes, *p = &c->partition;
    if (l->n != c->words)
        return fis_fail(e, FIS_INPUT, AT_LINE "%s: found %u values, allowed are %u", LINE(l),
                        l->words[0], l->n - 1, c->words - 1);
    int rc = next_line(p, e);
    if (rc < 0)
        return rc;
    if (rc == 0 || strcmp(p->words[0], l->words[0]))
        return fis_fail(e, FIS_INPUT, AT_LINE "found %s, allowed is %s, as in line %llu of %s",
                        LINE(p), rc ? p->words[0] : "the end", l->words[0],
                        (unsigned long long)l->number, ATTRIBUTES);
    const char *part = p->n == 2 ? p->words[1] : "";
    if (strlen(part) != 1 || !strchr("012", *part))
        return fis_fail(e, FIS_INPUT,
                        AT_LINE
                        "%s: found '%s', allowed are 0 (training), 1 (validation), 2 (test)",
                        LINE(p), p->words[0], p->n > 2 ? p->words[2] : part);
    if (*part - '0' == VALIDATION)
        return 0;
    if (strchr(l->words[0], '/') || strlen(l->words[0]) >= NAME_ROOM)
        return fis_fail(e, FIS_INPUT, AT_LINE "found %.80s, allowed is a file of %s", LINE(l),
                        l->words[0], FOLDER);
    const uint32_t i = c->out->n++;
    snprintf(c->names[i], NAME_ROOM, "%s", l->words[0]);
    c->lines[i] = (uint32_t)l->number;
    c->out->part[i] = *part - '0' == TEST ? LAB_TEST : LAB_TRAINING;
    return add_row(c, e);
}

static int read_lists(struct celeba *c, struct fis_error *e)
{
    struct list *l = &c->attributes;
    int rc = open_list(l, c->folder, ATTRIBUTES, e);
    if (!rc)
        rc = open_list(&c->partition, c->folder, PARTITION, e);
    if (!rc)
        rc = read_head(c, e);
    if (!rc)
        rc = make_room(c, e);
    uint32_t images = 0;
    while (!rc && (rc = next_line(l, e)) > 0)
        rc = images++ < c->count ? read_image(c, e) : 0;
    if (!rc && images != c->count)
        return fis_fail(e, FIS_INPUT, "%s: line 1: found %u images, and %u lines of them", l->path,
                        c->count, images);
    if (rc)
        return rc;
    if ((rc = next_line(&c->partition, e)))
        return rc < 0 ? rc
                      : fis_fail(e, FIS_INPUT, AT_LINE "found %s, which %s does not have",
                                 LINE(&c->partition), c->partition.words[0], ATTRIBUTES);
    c->out->table = data_table_end(c->table, e);
    c->table = NULL;
    return c->out->table ? 0 : fis_error_prefix(e, "%s", l->path);
}

/* ---- images ---------------------------------------------------------------------------------- */

static int read_file(const char *path, unsigned char *room, size_t *n, struct fis_error *e)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return fis_fail(e, FIS_INPUT, "%s", strerror(errno));
    *n = fread(room, 1, JPEG_MAX, f);
    const bool bad = ferror(f), more = !bad && fgetc(f) != EOF;
    fclose(f);
    return bad    ? fis_fail(e, FIS_INPUT, "it cannot be read")
           : more ? fis_fail(e, FIS_INPUT, "over %zu bytes", JPEG_MAX)
                  : 0;
}

static int decode(struct celeba *c, uint32_t i, unsigned char *room, struct fis_error *e)
{
    const struct lab_images *o = c->out;
    const struct image_shape shape = {o->height, o->width, o->channels};
    char path[PATH_ROOM + NAME_ROOM + sizeof FOLDER + 2];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/" FOLDER "/%s", c->folder, c->names[i]);
    int rc = read_file(path, room, &n, e);
    if (!rc)
        rc = image_decode(room, n, &shape, PIXELS_MAX,
                          o->pixels + (size_t)i * lab_images_numbers(o), e);
    return rc ? fis_error_prefix(e, "%s (line %u of %s)", path, c->lines[i], ATTRIBUTES) : 0;
}

static int decode_some(void *arg, uint32_t job, uint32_t worker, struct fis_error *e)
{
    struct celeba *c = arg;
    unsigned char *room = fis_alloc(JPEG_MAX, 1);
    int rc = room ? 0 : fis_fail(e, FIS_NOMEM, "%s: no memory for an image", c->folder);
    (void)worker;
    for (uint32_t i = job * TOGETHER; !rc && i < c->out->n && i < (job + 1) * TOGETHER; i++)
        rc = decode(c, i, room, e);
    fis_free(room);
    return rc;
}

static int read_images(struct celeba *c, struct fis_error *e)
{
    const size_t bytes = (size_t)c->out->n * lab_images_numbers(c->out);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!(c->out->pixels = fis_alloc(bytes, 1)))
        return fis_fail(e, FIS_NOMEM, "%s: no memory for %u images of %u x %u x %u, %zu bytes",
                        c->folder, c->out->n, c->out->height, c->out->width, c->out->channels,
                        bytes);
    struct lab_pool *pool = lab_pool_start(
        cores > 0 ? (uint32_t)cores : 1, (c->out->n + TOGETHER - 1) / TOGETHER, decode_some, c, e);
    return pool ? lab_pool_join(pool, e) : -(int)(e ? e->kind : FIS_RETRY);
}

struct lab_images *lab_images_celeba(const char *folder, const struct fis_vit *v,
                                     const char *const *columns, uint32_t n_columns,
                                     struct fis_error *e)
{
    struct celeba *c = fis_calloc(1, sizeof *c);
    int rc = c && (c->out = fis_calloc(1, sizeof *c->out)) && (c->table = data_table_begin(e))
                 ? 0
                 : fis_fail(e, FIS_NOMEM, "%s: no memory", folder);
    if (!rc) {
        c->folder = folder;
        c->columns = columns;
        c->n_columns = n_columns;
        c->out->height = v->height;
        c->out->width = v->width;
        c->out->channels = v->channels;
        rc = read_lists(c, e);
    }
    if (!rc)
        rc = read_images(c, e);
    struct lab_images *out = c ? c->out : NULL;
    if (c) {
        close_list(&c->attributes);
        close_list(&c->partition);
        data_table_discard(c->table);
        fis_free(c->names);
        fis_free(c->lines);
    }
    fis_free(c);
    if (!rc)
        return out;
    lab_images_free(out);
    return NULL;
}
