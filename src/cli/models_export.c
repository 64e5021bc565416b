/* A version as a file for other programs, and for those who answer for it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/models.h"
#include "fis/mem.h"
#include "wire/model_card.h"
#include "wire/onnx.h"

/* The whole file or none: it takes its name when it is written. */
static int write_file(const char *path, const struct byte_buffer *b, struct fis_error *e)
{
    size_t length = strlen(path);
    char *part = fis_alloc(length + sizeof ".part", 1);
    if (!part)
        return fis_fail(e, FIS_NOMEM, "no memory for a file name");
    snprintf(part, length + sizeof ".part", "%s.part", path);
    FILE *out = fopen(part, "wb");
    bool good = out && fwrite(b->data, 1, b->length, out) == b->length;
    int why = errno;
    if (out && fclose(out) && good) {
        good = false;
        why = errno;
    }
    if (good && rename(part, path)) {
        good = false;
        why = errno;
    }
    if (!good && out)
        (void)remove(part);
    fis_free(part);
    return good ? 0
                : fis_fail(e, FIS_INPUT, "%s: %s; name a file that can be written", path,
                           strerror(why));
}

int models_export(const struct wire_model *m, const char *path, struct fis_error *e)
{
    struct byte_buffer b = {0};
    if (!path && isatty(STDOUT_FILENO))
        return fis_fail(e, FIS_INPUT, "a terminal shows no ONNX: use --output FILE, or a pipe");
    int rc = wire_onnx_encode(m, &b, e);
    if (!rc && path)
        rc = write_file(path, &b, e);
    else if (!rc)
        fwrite(b.data, 1, b.length, stdout);
    byte_buffer_done(&b);
    return rc;
}

int models_card(const struct wire_model *m, bool json, struct fis_error *e)
{
    const struct wire_group_names none = {0};
    struct byte_buffer b = {0};
    int rc = json ? wire_model_card_json(m, none, &b, e) : wire_model_card_text(m, none, &b, e);
    if (!rc)
        printf("%.*s%s", (int)b.length, (const char *)b.data, json ? "\n" : "");
    byte_buffer_done(&b);
    return rc;
}
