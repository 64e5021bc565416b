#include "daemon/trainer/trainer_input.h"

#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

static int refuse(struct trainer_input *in, const struct wire_message *m,
                  const struct fis_error *why, struct dead_counts *counts, struct fis_error *e)
{
    counts->n[why->code]++;
    return outbox_dead_letter(in->outbox, in->ctx->cfg->topics.dead_letter, m, why, e);
}

int trainer_input_offer(struct trainer_input *in, struct trainer_role *role,
                        const struct wire_message *m, struct fis_error *e)
{
    struct wire_offer offer;
    struct fis_error why;
    in->read++;
    fis_arena_reset(in->arena);
    enum wire_decoded got = wire_offer_decode(m, in->arena, &offer, &why);
    if (got == WIRE_TOMBSTONE)
        return 0;
    int rc = got == WIRE_OK ? trainer_role_offers(role, &offer, &why) : -FIS_INPUT;
    if (rc == -FIS_INPUT) {
        log_line(LOG_LEVEL_WARN, "candidate_refused", "partition=%d offset=%lld reason=\"%s\"",
                 (int)m->partition, (long long)m->offset, why.text);
        return refuse(in, m, &why, &in->dead_offers, e);
    }
    if (rc < 0)
        *e = why;
    return rc;
}

int trainer_input_label(struct trainer_input *in, struct trainer_role *role,
                        const struct wire_message *m, struct trainer_time now, struct fis_error *e)
{
    const struct pipeline *p = &in->ctx->pipeline;
    struct wire_label label;
    struct fis_error why;
    in->read++;
    fis_arena_reset(in->arena);
    enum wire_decoded got = p->labels == WIRE_JSON
                                ? wire_json_label(&p->schema, m, in->arena, &label, &why)
                                : wire_protobuf_label(&p->schema, m, in->arena, &label, &why);
    if (got == WIRE_TOMBSTONE) {
        got = WIRE_BAD;
        fis_refuse(&why, FIS_CODE_NO_VALUE, "no value: a label is never taken back by a null");
    }
    int rc = got == WIRE_OK ? trainer_role_label(role, &label, now, &why) : -FIS_INPUT;
    if (rc == -FIS_INPUT) {
        log_line(LOG_LEVEL_WARN, "label_refused", "partition=%d offset=%lld reason=\"%s\"",
                 (int)m->partition, (long long)m->offset, why.text);
        return refuse(in, m, &why, &in->dead_labels, e);
    }
    if (rc < 0)
        *e = why;
    return rc;
}

static enum wire_decoded decode_control(struct trainer_input *in, const struct wire_message *m,
                                        struct wire_control *c, struct fis_error *why)
{
    fis_arena_reset(in->arena);
    enum wire_decoded got = wire_control_decode(m, in->arena, c, why);
    if (got != WIRE_TOMBSTONE)
        return got;
    fis_refuse(why, FIS_CODE_NO_VALUE, "no value: a command is never taken back by a null");
    return WIRE_BAD;
}

uint64_t trainer_input_wanted(struct trainer_input *in, const struct trainer_role *role,
                              const struct wire_message *m)
{
    struct wire_control c;
    struct fis_error why;
    return decode_control(in, m, &c, &why) == WIRE_OK ? trainer_role_wanted_version(role, &c) : 0;
}

int trainer_input_control(struct trainer_input *in, struct trainer_role *role,
                          const struct wire_message *m, const struct wire_model *version,
                          struct trainer_time now, struct fis_error *e)
{
    struct wire_control c;
    struct fis_error why;
    in->read++;
    int rc = decode_control(in, m, &c, &why) == WIRE_OK
                 ? trainer_role_control(role, &c, version, now, &why)
                 : -FIS_INPUT;
    if (rc == -FIS_INPUT) {
        log_line(LOG_LEVEL_WARN, "command_refused", "partition=%d offset=%lld reason=\"%s\"",
                 (int)m->partition, (long long)m->offset, why.text);
        return refuse(in, m, &why, &in->dead_commands, e);
    }
    if (rc < 0)
        *e = why;
    return rc;
}
