#include <inttypes.h>
#include <stdio.h>

#include "wire/ledger.h"
#include "wire/protobuf_parts.h"

int wire_checkpoint_key(uint32_t index, struct byte_buffer *out, struct fis_error *e)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ccheckpoint/%" PRIu32, 0, index);
    return byte_buffer_append(out, text, (size_t)n, e);
}

int wire_checkpoint_encode(const struct wire_checkpoint *c, struct byte_buffer *out,
                           struct fis_error *e)
{
    Fis__V1__Checkpoint m = FIS__V1__CHECKPOINT__INIT;
    if (!c->format)
        return fis_fail(e, FIS_INPUT, "checkpoint: no format");
    m.format = c->format;
    m.version = c->version;
    m.learner = wire_binary_of(c->learner.data, c->learner.length);
    m.gate = wire_binary_of(c->gate.data, c->gate.length);
    return wire_protobuf_pack(&m, out, e);
}

/* Field by field, and not unpacked: the parts may be many megabytes, and stay where they are. */
static int read_fields(struct wire_bytes bytes, struct wire_checkpoint *out, struct fis_error *e)
{
    struct wire_reader r = wire_reader_of(bytes);
    struct wire_field f;
    int rc;
    while ((rc = wire_reader_next(&r, &f, e)) > 0) {
        if (f.number == 1)
            out->format = (uint32_t)f.value;
        else if (f.number == 2)
            out->version = f.value;
        else if (f.number == 3)
            out->learner = (struct wire_bytes){f.data, f.length};
        else if (f.number == 4)
            out->gate = (struct wire_bytes){f.data, f.length};
    }
    return rc;
}

int wire_checkpoint_decode(struct wire_bytes bytes, struct wire_checkpoint *c, struct fis_error *e)
{
    struct fis_error own;
    struct wire_checkpoint out = {.learner = {"", 0}, .gate = {"", 0}};
    e = e ? e : &own;
    int rc = wire_protobuf_check(&fis__v1__checkpoint__descriptor, bytes, e);
    if (!rc)
        rc = read_fields(bytes, &out, e);
    if (!rc && !out.format)
        rc = fis_fail(e, FIS_INPUT, "no format");
    if (rc)
        fis_error_prefix(e, "checkpoint");
    else
        *c = out;
    return rc;
}
