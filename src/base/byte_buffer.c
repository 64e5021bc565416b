#include "base/byte_buffer.h"

#include <stdio.h>
#include <string.h>

#include "fis/mem.h"

void byte_buffer_done(struct byte_buffer *b)
{
    fis_free(b->data);
    *b = (struct byte_buffer){0};
}

int byte_buffer_reserve(struct byte_buffer *b, size_t more, struct fis_error *e)
{
    if (more <= b->capacity - b->length)
        return 0;
    size_t need = b->length + more, capacity = b->capacity ? b->capacity : 256;
    if (need < more || need > SIZE_MAX / 4)
        return fis_fail(e, FIS_NOMEM, "no memory for %zu more bytes", more);
    while (capacity < need)
        capacity *= 2;
    if (!fis_grow(&b->data, b->length, capacity, 1))
        return fis_fail(e, FIS_NOMEM, "no memory for %zu bytes", need);
    b->capacity = capacity;
    return 0;
}

int byte_buffer_append(struct byte_buffer *b, const void *data, size_t length, struct fis_error *e)
{
    int rc = byte_buffer_reserve(b, length, e);
    if (rc)
        return rc;
    if (length)
        memcpy(b->data + b->length, data, length);
    b->length += length;
    return 0;
}

int byte_buffer_vprintf(struct byte_buffer *b, struct fis_error *e, const char *format,
                        va_list list)
{
    va_list again;
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    int rc = n < 0 ? fis_fail(e, FIS_INPUT, "a text that cannot be written")
                   : byte_buffer_reserve(b, (size_t)n + 1, e);
    if (rc)
        return rc;
    vsnprintf((char *)b->data + b->length, (size_t)n + 1, format, list);
    b->length += (size_t)n;
    return 0;
}

int byte_buffer_printf(struct byte_buffer *b, struct fis_error *e, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int rc = byte_buffer_vprintf(b, e, format, list);
    va_end(list);
    return rc;
}
