#include "lab/images.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fis/mem.h"

void lab_images_free(struct lab_images *i)
{
    if (!i)
        return;
    data_table_free(i->table);
    fis_free(i->pixels);
    fis_free(i->part);
    fis_free(i);
}

struct lab_images *lab_images_pixels(const char *path, uint32_t n, const struct fis_vit *v,
                                     struct fis_error *e)
{
    const size_t bytes = (size_t)n * v->height * v->width * v->channels;
    struct lab_images *i = fis_calloc(1, sizeof *i);
    FILE *f = fopen(path, "rb");
    int rc = f ? 0 : fis_fail(e, FIS_INPUT, "%s: %s", path, strerror(errno));
    if (i)
        *i = (struct lab_images){n,    v->height, v->width, v->channels, fis_alloc(bytes, 1),
                                 NULL, NULL};
    if (!rc && (!i || !i->pixels))
        rc = fis_fail(e, FIS_NOMEM, "%s: no memory for %zu bytes", path, bytes);
    if (!rc && (fread(i->pixels, 1, bytes, f) != bytes || fgetc(f) != EOF))
        rc = fis_fail(e, FIS_INPUT, "%s: %zu bytes expected, %u images of %u x %u x %u", path,
                      bytes, n, v->height, v->width, v->channels);
    if (f)
        fclose(f);
    if (!rc)
        return i;
    lab_images_free(i);
    return NULL;
}
