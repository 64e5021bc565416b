#include "wire/framing.h"
#include "wire/protobuf_codec.h"

#include "wire/protobuf_parts.h"

#define LABEL_INDEX 9 /* of Label in proto/fis.proto */

_Static_assert((int)WIRE_LABELLED == (int)FIS__V1__LABEL__STATUS__LABELLED &&
                   (int)WIRE_SKIPPED == (int)FIS__V1__LABEL__STATUS__SKIPPED &&
                   (int)WIRE_UNSURE == (int)FIS__V1__LABEL__STATUS__UNSURE,
               "a status has one number, here and on the wire");

static int check_times(const struct wire_label *label, struct fis_error *e)
{
    if (label->labelled_at_ms < 0)
        return fis_refuse(e, FIS_CODE_BAD_FIELD, "labelled_at_ms %lld: before 1970",
                          (long long)label->labelled_at_ms);
    return 0;
}

static int decode_label(const struct wire_schema *schema, const struct wire_message *m,
                        struct fis_arena *arena, struct wire_label *label, struct fis_error *e)
{
    struct wire_bytes value = m->value;
    struct wire_label out = {0};
    int rc = wire_unframe_protobuf(&value, &schema->label_framing, LABEL_INDEX, "labels", e);
    if (rc)
        return rc;
    const Fis__V1__Label *l = wire_protobuf_unpack(&fis__v1__label__descriptor, value, arena, e);
    if (!l)
        return -FIS_INPUT;
    out.status = (enum wire_label_status)l->status;
    if (out.status != WIRE_LABELLED && (l->class_index || *l->class_name))
        return fis_refuse(e, FIS_CODE_CONTRADICTION, "status %s with a class: one of them expected",
                          out.status == WIRE_SKIPPED ? "SKIPPED" : "UNSURE");
    out.annotator = l->annotator;
    out.labelled_at_ms = l->labelled_at_ms;
    rc = wire_class_of(schema, l->class_index, l->class_name, &out.class_index, e);
    if (!rc)
        rc = wire_message_id(m, wire_bytes_of(l->id), 0, &out.id, e);
    if (!rc)
        rc = wire_annotator_check(out.annotator, e);
    if (!rc)
        rc = check_times(&out, e);
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
                               struct byte_buffer *out, struct fis_error *e)
{
    Fis__V1__Label l = FIS__V1__LABEL__INIT;
    int rc = label->annotator ? wire_annotator_check(label->annotator, e) : 0;
    if (!rc)
        rc = check_times(label, e);
    if (rc)
        return rc;
    l.id = wire_binary_of(label->id.bytes, label->id.length);
    l.status = (Fis__V1__Label__Status)label->status;
    if (label->status == WIRE_LABELLED) {
        uint32_t class_index;
        rc = wire_class_of(schema, label->class_index, NULL, &class_index, e);
        if (rc)
            return rc;
        l.class_index = class_index;
        l.class_name = (char *)(uintptr_t)schema->classes[class_index];
    }
    if (label->annotator)
        l.annotator = (char *)(uintptr_t)label->annotator;
    l.labelled_at_ms = label->labelled_at_ms;
    rc = wire_frame(&schema->label_framing, true, out, e);
    return rc ? rc : wire_protobuf_pack(&l, out, e);
}
