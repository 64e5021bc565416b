/* What others write onto the topics of a session. */
#include <stdio.h>
#include <string.h>

#include "kit/cmocka.h"
#include "kit/role/small_pipeline.h"
#include "kit/session/session_kit.h"
#include "wire/protobuf_codec.h"

void kit_candidates(struct kit *k, uint32_t first, uint32_t n)
{
    static const struct wire_bytes record = {"{\"a\":1}", 7};
    struct wire_candidate c[64];
    static unsigned char room[1 << 15]; /* a test may refuse memory */
    struct byte_buffer out = {room, 0, sizeof room};
    static float x[64][KIT_D];
    struct fis_error e;
    struct fis_rng r;
    assert_true(n <= 64);
    fis_rng_seed(&r, 9, first);
    for (uint32_t i = 0; i < n; i++) {
        char id[16];
        uint32_t group;
        small_draw(&r, x[i], &group);
        c[i] =
            (struct wire_candidate){.x = x[i], .d = KIT_D, .encoding = WIRE_JSON, .record = record};
        fis_id_set(&c[i].id, id, (size_t)snprintf(id, sizeof id, "r%u", first + i));
    }
    const struct wire_range range = {
        .partition = 0, .begin = first, .next = first + n, .records = n};
    uint64_t scan = kit_counts(k).scan;
    const struct wire_progress p = {.scorer = "s", .ranges = &range, .n_ranges = 1, .scan = scan};
    const struct wire_offer offer = {c, n, &p};
    assert_int_equal(wire_offer_encode(&offer, &out, &e), 0);
    kit_append(k, SESSION_CANDIDATES, k->o.role.pipeline, out.data, out.length);
}

void kit_label(struct kit *k, const char *id, const char *class_name)
{
    char text[128];
    int n = snprintf(text, sizeof text, "{\"id\":\"%s\",\"label\":\"%s\"}", id, class_name);
    kit_append(k, SESSION_LABELS, id, text, (size_t)n);
}

void kit_command(struct kit *k, enum wire_control_kind kind, uint64_t version)
{
    struct wire_control c = {.kind = kind, .version = version, .by = "op", .reason = ""};
    static unsigned char room[1 << 15]; /* a test may refuse memory */
    struct byte_buffer out = {room, 0, sizeof room};
    struct fis_error e;
    char id[16];
    snprintf(id, sizeof id, "c%u", k->topic[SESSION_CONTROL].n);
    fis_id_set(&c.command, id, strlen(id));
    assert_int_equal(wire_control_encode(&c, &out, &e), 0);
    kit_append(k, SESSION_CONTROL, id, out.data, out.length);
}

void kit_forget(struct kit *k, enum session_topic t, int64_t first)
{
    k->topic[t].start = first;
}

uint32_t kit_requests(const struct kit *k)
{
    return k->topic[SESSION_REQUESTS].n;
}

struct trainer_role_counts kit_counts(const struct kit *k)
{
    const struct trainer_role *role = session_role(k->session);
    return role ? trainer_role_counts(role) : (struct trainer_role_counts){.phase = "none"};
}
