#include "wire/protobuf_codec.h"

#include "wire/protobuf_parts.h"

_Static_assert((int)WIRE_LABELLED == (int)FIS__V1__LABEL__STATUS__LABELLED &&
                   (int)WIRE_SKIPPED == (int)FIS__V1__LABEL__STATUS__SKIPPED &&
                   (int)WIRE_UNSURE == (int)FIS__V1__LABEL__STATUS__UNSURE,
               "a status has one number, here and on the wire");

static int decode_label(const struct wire_schema *schema, const struct wire_message *m,
                        struct fis_arena *arena, struct wire_label *label, struct fis_error *e)
{
    struct wire_bytes value = m->value;
    struct wire_label out = {0};
    int rc = wire_confluent_strip(&value, e);
    if (rc)
        return rc;
    const Fis__V1__Label *l = wire_protobuf_unpack(&fis__v1__label__descriptor, value, arena, e);
    if (!l)
        return -FIS_INPUT;
    out.status = (enum wire_label_status)l->status;
    if (out.status != WIRE_LABELLED && (l->class_index || *l->class_name))
        return fis_fail(e, FIS_INPUT, "status %s with a class: one of them wanted",
                        out.status == WIRE_SKIPPED ? "SKIPPED" : "UNSURE");
    rc = wire_class_of(schema, l->class_index, l->class_name, &out.class_index, e);
    if (!rc)
        rc = wire_message_id(m, wire_bytes_of(l->id), 0, &out.id, e);
    if (!rc)
        *label = out;
    return rc;
}

enum wire_decoded wire_protobuf_label(const struct wire_schema *schema,
                                      const struct wire_message *m, struct fis_arena *arena,
                                      struct wire_label *label, struct fis_error *e)
{
    if (!m->value.data)
        return wire_message_id(m, (struct wire_bytes){0}, 0, &label->id, e) ? WIRE_BAD
                                                                            : WIRE_TOMBSTONE;
    return decode_label(schema, m, arena, label, e) ? WIRE_BAD : WIRE_OK;
}

int wire_protobuf_label_encode(const struct wire_schema *schema, const struct wire_label *label,
                               const char *annotator, int64_t labelled_at_ms,
                               struct wire_buffer *out, struct fis_error *e)
{
    Fis__V1__Label l = FIS__V1__LABEL__INIT;
    l.id = wire_binary_of(label->id.bytes, label->id.length);
    l.status = (Fis__V1__Label__Status)label->status;
    if (label->status == WIRE_LABELLED) {
        uint32_t class_index;
        int rc = wire_class_of(schema, label->class_index, NULL, &class_index, e);
        if (rc)
            return rc;
        l.class_index = class_index;
        l.class_name = (char *)(uintptr_t)schema->classes[class_index];
    }
    if (annotator)
        l.annotator = (char *)(uintptr_t)annotator;
    l.labelled_at_ms = labelled_at_ms;
    return wire_protobuf_pack(&l, out, e);
}

int wire_protobuf_request_encode(const struct wire_schema *schema,
                                 const struct wire_label_request *request, struct wire_buffer *out,
                                 struct fis_error *e)
{
    Fis__V1__LabelRequest r = FIS__V1__LABEL_REQUEST__INIT;
    r.id = wire_binary_of(request->id.bytes, request->id.length);
    r.round = request->round;
    if (request->criterion)
        r.criterion = (char *)(uintptr_t)request->criterion;
    r.head_version = request->head_version;
    r.requested_at_ms = request->requested_at_ms;
    r.deadline_ms = request->deadline_ms;
    r.n_classes = schema->n_classes;
    r.classes = (char **)(uintptr_t)schema->classes;
    r.encoding = (Fis__V1__Encoding)request->encoding;
    r.record = wire_binary_of(request->record.data, request->record.length);
    return wire_protobuf_pack(&r, out, e);
}

static int decode_request(const struct wire_message *m, struct fis_arena *arena,
                          struct wire_label_request *request, const char *const **classes,
                          uint32_t *n_classes, struct fis_error *e)
{
    struct wire_bytes value = m->value;
    struct wire_label_request out = {0};
    int rc = wire_confluent_strip(&value, e);
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
    rc = wire_encoding_of(r->encoding, &out.encoding, e);
    if (!rc)
        rc = wire_message_id(m, wire_bytes_of(r->id), 0, &out.id, e);
    if (rc)
        return rc;
    *request = out;
    if (classes) {
        *classes = (const char *const *)r->classes;
        *n_classes = (uint32_t)r->n_classes;
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
