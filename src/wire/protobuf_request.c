#include "wire/framing.h"
#include "wire/protobuf_codec.h"

#include "wire/protobuf_parts.h"

static int check_votes(uint32_t votes, struct fis_error *e)
{
    if (votes > WIRE_VOTES)
        return fis_fail(e, FIS_INPUT, "a request for %u votes, at most %d allowed", votes,
                        WIRE_VOTES);
    return 0;
}

int wire_protobuf_request_encode(const struct wire_schema *schema,
                                 const struct wire_label_request *request, struct byte_buffer *out,
                                 struct fis_error *e)
{
    Fis__V1__LabelRequest r = FIS__V1__LABEL_REQUEST__INIT;
    int rc = check_votes(request->votes, e);
    if (rc)
        return rc;
    r.id = wire_binary_of(request->id.bytes, request->id.length);
    r.round = request->round;
    if (request->criterion)
        r.criterion = (char *)(uintptr_t)request->criterion;
    r.head_version = request->head_version;
    r.requested_at_ms = request->requested_at_ms;
    r.deadline_ms = request->deadline_ms;
    if (request->cancelled) {
        r.cancelled = 1;
        if (request->reason)
            r.reason = (char *)(uintptr_t)request->reason;
        return wire_protobuf_pack(&r, out, e);
    }
    r.n_classes = schema->n_classes;
    r.classes = (char **)(uintptr_t)schema->classes;
    r.encoding = (Fis__V1__Encoding)request->encoding;
    r.record = wire_binary_of(request->record.data, request->record.length);
    r.votes = request->votes > 1 ? request->votes : 0;
    return wire_protobuf_pack(&r, out, e);
}

/* Of a request a record is needed, of the withdrawal of one there must be none. */
static int read_kind(const Fis__V1__LabelRequest *r, struct wire_label_request *out,
                     struct fis_error *e)
{
    out->cancelled = r->cancelled != 0;
    if (!out->cancelled && *r->reason)
        return fis_fail(e, FIS_INPUT, "a request with a reason that is not cancelled");
    if (!out->cancelled)
        return wire_encoding_of(r->encoding, &out->encoding, e);
    if (r->record.len || r->encoding)
        return fis_fail(e, FIS_INPUT, "a cancelled request with a record");
    out->reason = r->reason;
    return 0;
}

static int decode_request(const struct wire_message *m, struct fis_arena *arena,
                          struct wire_label_request *request, const char *const **classes,
                          uint32_t *n_classes, struct fis_error *e)
{
    struct wire_bytes value = m->value;
    struct wire_label_request out = {0};
    int rc = wire_unframe_again(&value, e);
    if (rc)
        return rc;
    const Fis__V1__LabelRequest *r =
        wire_protobuf_unpack(&fis__v1__label_request__descriptor, value, arena, e);
    if (!r)
        return -FIS_INPUT;
    out.round = r->round;
    out.criterion = r->criterion;
    out.head_version = r->head_version;
    out.requested_at_ms = r->requested_at_ms;
    out.deadline_ms = r->deadline_ms;
    out.record = wire_bytes_of(r->record);
    out.votes = r->votes && !r->cancelled ? r->votes : 1;
    rc = check_votes(out.votes, e);
    if (!rc)
        rc = read_kind(r, &out, e);
    if (!rc)
        rc = wire_message_id(m, wire_bytes_of(r->id), 0, &out.id, e);
    if (rc)
        return rc;
    *request = out;
    if (classes) {
        *classes = (const char *const *)r->classes;
        *n_classes = out.cancelled ? 0 : (uint32_t)r->n_classes;
    }
    return 0;
}

enum wire_decoded wire_protobuf_request(const struct wire_message *m, struct fis_arena *arena,
                                        struct wire_label_request *request,
                                        const char *const **classes, uint32_t *n_classes,
                                        struct fis_error *e)
{
    if (!m->value.data)
        return wire_message_id(m, (struct wire_bytes){0}, 0, &request->id, e) ? WIRE_BAD
                                                                              : WIRE_TOMBSTONE;
    return decode_request(m, arena, request, classes, n_classes, e) ? WIRE_BAD : WIRE_OK;
}
