/* Rows whose features are an image: a file's name, from the folder of the rows, or base64. */
#include <string.h>
#include <sys/stat.h>

#include "rows_impl.h"
#include "wire/record_image.h"

static int too_long(size_t length, size_t allowed, struct fis_error *e)
{
    return fis_refuse(e, FIS_CODE_TOO_LONG,
                      "image: %zu bytes, at most %zu allowed (records.max_bytes)", length, allowed);
}

static int read_file(struct data_rows *r, const char *path, struct fis_error *e)
{
    const size_t allowed = r->options->images->max_bytes;
    struct stat s;
    FILE *in = fopen(path, "rb");
    int rc = 0;
    if (!in || fstat(fileno(in), &s) || !S_ISREG(s.st_mode))
        rc = fis_fail(e, FIS_INPUT, "image: no file %.200s", path);
    else if ((uint64_t)s.st_size > allowed)
        rc = too_long((size_t)s.st_size, allowed, e);
    if (!rc)
        rc = byte_buffer_reserve(&r->image, (size_t)s.st_size + 1, e);
    if (!rc)
        r->image.length = fread(r->image.data, 1, (size_t)s.st_size, in);
    if (in)
        fclose(in);
    return rc;
}

static int read_named(struct data_rows *r, const char *name, size_t length, struct fis_error *e)
{
    const char *slash = strrchr(r->path, '/');
    size_t folder = slash && *name != '/' ? (size_t)(slash - r->path) + 1 : 0;
    char *path = fis_alloc(folder + length + 1, 1);
    if (!path)
        return fis_fail(e, FIS_NOMEM, "no memory for the name of an image");
    memcpy(path, r->path, folder);
    memcpy(path + folder, name, length);
    path[folder + length] = 0;
    int rc = read_file(r, path, e);
    fis_free(path);
    return rc;
}

/* Not the name of a file. */
static bool is_base64(const char *text, size_t length)
{
    return wire_image_prefix(text, length) || wire_image_type(text, length);
}

int data_image_read(struct data_rows *r, const char *text, size_t length, struct fis_error *e)
{
    const size_t allowed = r->options->images->max_bytes;
    struct wire_image image;
    r->image.length = 0;
    if (!length)
        return fis_refuse(e, FIS_CODE_BAD_IMAGE, "image: nothing found");
    if (!is_base64(text, length))
        return read_named(r, text, length, e);
    if (length / 4 * 3 > allowed)
        return too_long(length / 4 * 3, allowed, e);
    int rc = byte_buffer_reserve(&r->image, length + 64, e);
    if (rc)
        return rc;
    struct fis_arena arena = {.base = r->image.data, .size = r->image.capacity};
    rc = wire_image_of_text((struct wire_bytes){text, length}, &arena, &image, e);
    if (!rc && image.data.data != r->image.data)
        memmove(r->image.data, image.data.data, image.data.length);
    r->image.length = rc ? 0 : image.data.length;
    return rc;
}

int data_image_values(struct data_rows *r, struct fis_value *values, struct fis_error *e)
{
    const struct wire_schema *s = r->options->images;
    const struct wire_image image = {.data = {r->image.data, r->image.length}};
    struct fis_arena arena = {.size = wire_image_arena(s)};
    arena.base = fis_alloc(arena.size, 1);
    if (!arena.base)
        return fis_fail(e, FIS_NOMEM, "no memory for an image");
    int rc = wire_image_values(s, &image, &arena, values, e);
    fis_free(arena.base);
    return rc;
}

int data_image_text(struct data_rows *r, struct wire_bytes *text, struct fis_error *e)
{
    const char *at = text->data;
    if (is_base64(at, text->length))
        return 0;
    int rc = data_image_read(r, at, text->length, e);
    size_t n = image_base64_length(r->image.length);
    r->base64.length = 0;
    if (!rc)
        rc = byte_buffer_reserve(&r->base64, n + 1, e);
    if (rc)
        return rc;
    image_base64_encode(r->image.data, r->image.length, (char *)r->base64.data);
    *text = (struct wire_bytes){r->base64.data, n};
    return 0;
}

/* The object's own text, but for the image. */
int data_image_object(struct data_rows *r, struct wire_bytes text, const json_t *image,
                      struct byte_buffer *out, struct fis_error *e)
{
    struct wire_json_part part;
    bool first = true;
    struct wire_bytes own = {json_string_value(image), json_string_length(image)};
    int rc = data_image_text(r, &own, e);
    if (!rc)
        rc = wire_json_append(out, "{", e);
    for (size_t at = 0; !rc && wire_json_each(text, &at, &part); first = false) {
        bool it = part.key.length == sizeof WIRE_IMAGE + 1 &&
                  !memcmp((const char *)part.key.data + 1, WIRE_IMAGE, sizeof WIRE_IMAGE - 1);
        rc = first ? 0 : wire_json_append(out, ",", e);
        if (!rc)
            rc = byte_buffer_append(out, part.key.data, part.key.length, e);
        if (!rc)
            rc = wire_json_append(out, ":", e);
        if (!rc)
            rc = it ? wire_json_escape(out, own.data, own.length, e)
                    : byte_buffer_append(out, part.value.data, part.value.length, e);
    }
    return rc ? rc : wire_json_append(out, "}", e);
}

const json_t *data_image_member(const struct data_rows *r)
{
    const json_t *v = r->options->images ? json_object_get(r->object, WIRE_IMAGE) : NULL;
    return json_is_string(v) ? v : NULL;
}

struct wire_bytes data_rows_image(const struct data_rows *r)
{
    return r->pictured ? (struct wire_bytes){r->image.data, r->image.length}
                       : (struct wire_bytes){NULL, 0};
}
