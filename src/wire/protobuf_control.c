#include "wire/protobuf_codec.h"

#include <string.h>

#include "wire/protobuf_parts.h"

_Static_assert((int)WIRE_CONTROL_PAUSE == (int)FIS__V1__CONTROL__KIND__PAUSE &&
                   (int)WIRE_CONTROL_RESUME == (int)FIS__V1__CONTROL__KIND__RESUME &&
                   (int)WIRE_CONTROL_CANCEL == (int)FIS__V1__CONTROL__KIND__CANCEL &&
                   (int)WIRE_CONTROL_PIN == (int)FIS__V1__CONTROL__KIND__PIN &&
                   (int)WIRE_CONTROL_UNPIN == (int)FIS__V1__CONTROL__KIND__UNPIN &&
                   (int)WIRE_CONTROL_ROLLBACK == (int)FIS__V1__CONTROL__KIND__ROLLBACK &&
                   (int)WIRE_CONTROL_PROMOTE == (int)FIS__V1__CONTROL__KIND__PROMOTE &&
                   (int)WIRE_CONTROL_CANCEL_ALL == (int)FIS__V1__CONTROL__KIND__CANCEL_ALL &&
                   (int)WIRE_CONTROL_RESEND == (int)FIS__V1__CONTROL__KIND__RESEND &&
                   (int)WIRE_CONTROL_FORGET == (int)FIS__V1__CONTROL__KIND__FORGET,
               "a command has one number, here and on the wire");

const char *wire_control_name(enum wire_control_kind kind)
{
    static const char *const names[] = {"unknown", "pause",    "resume",  "cancel",     "pin",
                                        "unpin",   "rollback", "promote", "cancel_all", "resend",
                                        "forget"};
    return kind >= WIRE_CONTROL_PAUSE && kind <= WIRE_CONTROL_LAST ? names[kind] : names[0];
}

static int check(const struct wire_control *c, struct fis_error *e)
{
    const char *name = wire_control_name(c->kind);
    int needs_record = c->kind == WIRE_CONTROL_CANCEL || c->kind == WIRE_CONTROL_FORGET;
    int needs_version = c->kind == WIRE_CONTROL_ROLLBACK || c->kind == WIRE_CONTROL_PROMOTE;
    if (c->kind < WIRE_CONTROL_PAUSE || c->kind > WIRE_CONTROL_LAST)
        return fis_refuse(e, FIS_CODE_BAD_FIELD, "control: no command %d", (int)c->kind);
    if (!c->command.length || memchr(c->command.bytes, 0, c->command.length))
        return fis_refuse(e, FIS_CODE_BAD_ID, "control: a command's id is a text, and not empty");
    if (needs_record != (c->record.length > 0) && c->kind != WIRE_CONTROL_RESEND)
        return fis_refuse(e, FIS_CODE_BAD_FIELD, "control: %s %s a record", name,
                          needs_record ? "without" : "with");
    if ((c->version && !needs_version) || (!c->version && c->kind == WIRE_CONTROL_PROMOTE))
        return fis_refuse(e, FIS_CODE_BAD_FIELD, "control: %s %s a version", name,
                          c->version ? "with" : "without");
    if (c->at_ms < 0)
        return fis_refuse(e, FIS_CODE_BAD_FIELD, "control: at_ms %lld: before 1970",
                          (long long)c->at_ms);
    return 0;
}

int wire_control_encode(const struct wire_control *control, struct byte_buffer *out,
                        struct fis_error *e)
{
    Fis__V1__Control m = FIS__V1__CONTROL__INIT;
    _Alignas(16) unsigned char bytes[2 * (WIRE_CONTROL_TEXT + 17)];
    struct fis_arena scratch = {.base = bytes, .size = sizeof bytes};
    int rc = check(control, e);
    if (rc)
        return rc;
    m.kind = (Fis__V1__Control__Kind)control->kind;
    m.record = wire_binary_of(control->record.bytes, control->record.length);
    m.version = control->version;
    m.by = wire_text_of(control->by, WIRE_CONTROL_TEXT, &scratch);
    m.reason = wire_text_of(control->reason, WIRE_CONTROL_TEXT, &scratch);
    m.at_ms = control->at_ms;
    if (!m.by || !m.reason)
        return fis_fail(e, FIS_NOMEM, "control: texts of more than %zu bytes", sizeof bytes);
    return wire_protobuf_pack(&m, out, e);
}

static int decode(const struct wire_message *m, struct fis_arena *arena,
                  struct wire_control *control, struct fis_error *e)
{
    const Fis__V1__Control *c =
        wire_protobuf_unpack(&fis__v1__control__descriptor, m->value, arena, e);
    if (!c)
        return -FIS_INPUT;
    struct wire_control out = {
        .kind = (enum wire_control_kind)c->kind, .version = c->version, .at_ms = c->at_ms};
    int rc = wire_message_id(m, (struct wire_bytes){0}, 0, &out.command, e);
    if (!rc && c->record.len)
        rc = wire_message_id(m, wire_bytes_of(c->record), 0, &out.record, e);
    if (!rc)
        rc = check(&out, e);
    if (rc)
        return rc;
    out.by = wire_text_of(c->by, WIRE_CONTROL_TEXT, arena);
    out.reason = wire_text_of(c->reason, WIRE_CONTROL_TEXT, arena);
    if (!out.by || !out.reason)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "control: takes more than %zu bytes", arena->size);
    *control = out;
    return 0;
}

enum wire_decoded wire_control_decode(const struct wire_message *m, struct fis_arena *arena,
                                      struct wire_control *control, struct fis_error *e)
{
    if (!m->value.data)
        return WIRE_TOMBSTONE;
    return decode(m, arena, control, e) ? WIRE_BAD : WIRE_OK;
}
