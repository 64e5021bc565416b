#include "data/faults.h"

#include <inttypes.h>
#include <stdio.h>

#include "fis/mem.h"

enum { LINES = sizeof((struct data_fault *)0)->lines / sizeof(uint64_t) };

static struct data_fault *find(const struct data_faults *f, uint32_t kind)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->items[i].kind == kind || (i + 1 == DATA_KINDS && f->n == DATA_KINDS))
            return &f->items[i];
    return NULL;
}

int data_faults_add(struct data_faults *f, uint32_t kind, uint64_t line, const char *text,
                    struct fis_error *e)
{
    struct data_fault *at = find(f, kind);
    if (!f->items && !(f->items = fis_calloc(DATA_KINDS, sizeof *f->items)))
        return fis_fail(e, FIS_NOMEM, "no memory to note what is wrong");
    if (!at) {
        at = &f->items[f->n++];
        at->kind = kind;
        snprintf(at->text, sizeof at->text, "%s", text);
    }
    if (at->count < LINES)
        at->lines[at->count] = line;
    at->count++;
    return 0;
}

uint64_t data_faults_count(const struct data_faults *f, uint32_t kind)
{
    const struct data_fault *at = find(f, kind);
    return at && at->kind == kind ? at->count : 0;
}

static void describe(const struct data_fault *f, const char *path, char *out, size_t size)
{
    size_t n = 0;
    if (f->lines[0])
        n = (size_t)snprintf(out, size, "%s: line %" PRIu64 ": %s", path, f->lines[0], f->text);
    else
        n = (size_t)snprintf(out, size, "%s: %s", path, f->text);
    for (uint64_t i = 1; i < f->count && i < LINES && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%" PRIu64,
                              i == 1 ? (f->count == 2 ? "; also line " : "; also lines ") : ", ",
                              f->lines[i]);
    if (f->count > LINES && n < size)
        snprintf(out + n, size - n, " and %" PRIu64 " more", f->count - LINES);
}

void data_faults_tell(const struct data_faults *f, const char *path, bool fault, data_note_fn *note,
                      void *ctx)
{
    char text[FIS_ERROR_TEXT];
    for (uint32_t i = 0; note && i < f->n; i++) {
        describe(&f->items[i], path, text, sizeof text);
        note(ctx, fault, text);
    }
}

int data_faults_error(const struct data_faults *f, const char *path, struct fis_error *e)
{
    char text[FIS_ERROR_TEXT];
    if (!f->n)
        return 0;
    describe(&f->items[0], path, text, sizeof text);
    return fis_fail(e, FIS_INPUT, "%s", text);
}

void data_faults_done(struct data_faults *f)
{
    fis_free(f->items);
    *f = (struct data_faults){0};
}
