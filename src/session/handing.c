/* How a message reaches the role: decoded, or refused; a command with the version that it names. */
#include <string.h>

#include "session/session_impl.h"
#include "wire/chunk.h"
#include "wire/json_codec.h"
#include "wire/model.h"
#include "wire/protobuf_codec.h"

#define OPEN_VERSIONS 8

/* rc: of decoding or of the role; INPUT: `why` goes to the dead letters. */
static int handed(struct session *s, int rc, enum session_refusal kind,
                  const struct wire_message *m, const struct fis_error *why, struct fis_error *e)
{
    s->read++;
    if (rc == -FIS_INPUT)
        rc = session_refuse(s, kind, m, why, e);
    else if (rc < 0)
        *e = *why;
    return rc < 0 ? rc : 1;
}

/* The key is the pipeline's name; what has none is from before there were keys. */
static int check_owner(const struct session *s, const struct wire_message *m, struct fis_error *e)
{
    const char *own = s->o.role.pipeline;
    size_t n = strlen(own);
    if (!m->key.length || (m->key.length == n && !memcmp(m->key.data, own, n)))
        return 0;
    return fis_refuse(e, FIS_CODE_BAD_FIELD,
                      "candidates of pipeline %.*s, and this is pipeline %s: give each its own "
                      "topics (topics.prefix)",
                      (int)(m->key.length < 100 ? m->key.length : 100), (const char *)m->key.data,
                      own);
}

static int offer(struct session *s, const struct wire_message *m, struct fis_error *e)
{
    struct wire_offer offer;
    struct fis_error why;
    enum wire_decoded got = wire_offer_decode(m, &s->arena, &offer, &why);
    int rc = got == WIRE_TOMBSTONE ? 0 : got == WIRE_OK ? check_owner(s, m, &why) : -FIS_INPUT;
    if (rc == 0 && got == WIRE_OK)
        rc = trainer_role_offers(s->role, &offer, &why);
    return handed(s, rc, SESSION_BAD_OFFERS, m, &why, e);
}

static int label(struct session *s, const struct wire_message *m, struct fis_error *e)
{
    struct wire_label label;
    struct fis_error why;
    enum wire_decoded got = s->o.labels == WIRE_JSON
                                ? wire_json_label(s->o.schema, m, &s->arena, &label, &why)
                                : wire_protobuf_label(s->o.schema, m, &s->arena, &label, &why);
    int rc = -FIS_INPUT;
    if (got == WIRE_OK)
        rc = trainer_role_label(s->role, &label, s->now, &why);
    else if (got == WIRE_TOMBSTONE)
        fis_refuse(&why, FIS_CODE_NO_VALUE, "no value: a null value cannot withdraw a label");
    return handed(s, rc, SESSION_BAD_LABELS, m, &why, e);
}

/* ---- versions ------------------------------------------------------------------------------ */

void session_lookup_end(struct session *s)
{
    session_close(s, SESSION_READ_VERSIONS);
    wire_assembler_free(s->lookup.chunks);
    wire_model_done(&s->lookup.found);
    memset(&s->lookup, 0, sizeof s->lookup);
}

/* A version that cannot be read is not there. */
static int take_chunk(struct session *s, const struct wire_message *m, struct fis_error *e)
{
    struct wire_bytes payload;
    struct wire_model_owned model;
    uint64_t version;
    int rc = wire_assembler_feed(s->lookup.chunks, m->value, &payload, &version, e);
    if (rc > 0 && version == s->lookup.version &&
        (rc = wire_model_decode(payload, &model, e)) == 0) {
        wire_model_done(&s->lookup.found);
        s->lookup.found = model;
    }
    if (rc >= 0)
        return 0;
    fis_error_prefix(e, "%s partition %d offset %lld", s->o.topics[SESSION_MODELS],
                     (int)m->partition, (long long)m->offset);
    if (rc != -FIS_INPUT)
        return rc;
    session_note(s, LOG_LEVEL_WARN, "version_unread", "text=\"%s\"", e->text);
    return 0;
}

/* It may be anywhere on its topic, which is read from beginning to end: this is rare, and nothing
 * is kept for it in the meantime. 1: it was; 0: not yet. */
static int look_up(struct session *s, uint64_t version, struct fis_error *e)
{
    struct session_input in;
    int rc = 0;
    if (s->lookup.version != version) {
        session_lookup_end(s);
        s->lookup.version = version;
        s->lookup.chunks = wire_assembler_new(WIRE_ASSEMBLE_EACH, OPEN_VERSIONS, 0);
        if (!s->lookup.chunks)
            return fis_fail(e, FIS_NOMEM, "no memory to look for a version");
        rc = session_open(s, SESSION_READ_VERSIONS, e);
    }
    while (rc >= 0 && !s->lookup.at_end &&
           (rc = s->p.read(s->p.ctx, SESSION_READ_VERSIONS, &in, e)) > 0) {
        s->lookup.at_end = in.event == SESSION_END;
        if (in.event == SESSION_MESSAGE)
            rc = take_chunk(s, &in.message, e);
    }
    return rc < 0 ? rc : s->lookup.at_end;
}

/* The group's places may be gone, and its topic be read again from the beginning: a rollback of
 * then is none of now. A message of a recreated topic is younger. */
static bool was_taken(struct session *s, const struct wire_message *m)
{
    return m->partition == 0 && (uint64_t)m->offset < s->control.next &&
           m->timestamp_ms <= s->control.ms;
}

static void note_taken(struct session *s, const struct wire_message *m)
{
    if (m->partition == 0)
        s->control = (struct wire_control_place){(uint64_t)m->offset + 1, m->timestamp_ms};
}

static int command(struct session *s, const struct wire_message *m, struct fis_error *e)
{
    struct wire_control c;
    struct fis_error why;
    const struct wire_model *version = NULL;
    if (was_taken(s, m)) {
        session_note(s, LOG_LEVEL_INFO, "command_passed",
                     "partition=%d offset=%lld text=\"it was carried out before\"",
                     (int)m->partition, (long long)m->offset);
        return 1;
    }
    enum wire_decoded got = wire_control_decode(m, &s->arena, &c, &why);
    if (got == WIRE_TOMBSTONE)
        fis_refuse(&why, FIS_CODE_NO_VALUE, "no value: a null value cannot withdraw a command");
    if (got != WIRE_OK)
        return handed(s, -FIS_INPUT, SESSION_BAD_COMMANDS, m, &why, e);
    uint64_t named = trainer_role_named_version(s->role, &c);
    if (named) {
        int rc = look_up(s, named, e);
        if (rc <= 0)
            return rc;
        version = s->lookup.found.model.version ? &s->lookup.found.model : NULL;
    }
    note_taken(s, m);
    int rc = trainer_role_control(s->role, &c, version, s->now, &why);
    session_lookup_end(s);
    return handed(s, rc, SESSION_BAD_COMMANDS, m, &why, e);
}

int session_hand(struct session *s, enum session_topic t, const struct wire_message *m,
                 struct fis_error *e)
{
    fis_arena_reset(&s->arena);
    return t == SESSION_CONTROL  ? command(s, m, e)
           : t == SESSION_LABELS ? label(s, m, e)
                                 : offer(s, m, e);
}
