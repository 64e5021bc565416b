/*
 * Whose memory it is: another pipeline, and a changed one, are refused before they are ready to
 * lead; a change that was accepted goes into the lineage.
 */
#include "kit/session/session_kit.h"

#include <stdlib.h>
#include <string.h>

#include "kit/cmocka.h"
#include "session/identity.h"
#include "wire/chunk.h"
#include "wire/json_codec.h"
#include "wire/ledger.h"
#include "wire/model.h"

static const char *const sexes[] = {"sex"}, *const both[] = {"sex", "race"},
                         *const turned[] = {"race", "sex"};

/* One that has led and published version 1, and is gone. */
static void wrote(struct kit *k)
{
    kit_open(k, false);
    k->o.sensitive = both;
    k->o.n_sensitive = 2;
    k->o.base = "none";
    kit_restart(k);
    kit_lead(k);
    assert_int_equal(kit_counts(k).model_version, 1);
    session_stop(k->session, k->now);
    kit_settle(k);
    assert_true(k->stopped);
}

/* As a standby, never elected. */
static void refused(struct kit *k, const char *part)
{
    kit_restart(k);
    kit_settle(k);
    assert_true(k->stopped);
    assert_int_equal(k->failed, FIS_FATAL);
    if (!strstr(k->error.text, part))
        fail_msg("\"%s\" is not in: %s", part, k->error.text);
    assert_null(strstr(k->notes, "ready to lead"));
}

static void taken(struct kit *k)
{
    kit_restart(k);
    kit_settle(k);
    if (k->stopped)
        fail_msg("%s", k->error.text);
    assert_non_null(strstr(k->notes, "ready to lead"));
}

static void another_pipeline_is_refused(void **state)
{
    (void)state;
    struct kit k;
    wrote(&k);
    k.o.role.pipeline = "other";
    refused(&k, "holds the memory of pipeline t, and this is pipeline other");
    k.o.accept_change = "00000000";
    refused(&k, "holds the memory of pipeline t");
    k.o.role.pipeline = "t";
    taken(&k);
    kit_close(&k);
}

static void what_cannot_be_compared_is_refused(void **state)
{
    (void)state;
    static const char *const swapped[] = {"yes", "no"};
    struct kit k;
    wrote(&k);
    struct session_options as_it_was = k.o;
    struct wire_schema schema = *k.o.schema;
    schema.classes = swapped;
    k.o.schema = &schema;
    refused(&k, "classes 'yes', 'no' (was 'no', 'yes')");
    assert_null(strstr(k.error.text, "accept_change"));
    k.o = as_it_was;
    k.o.role.hidden[0] = 3;
    k.o.role.n_hidden = 1;
    refused(&k, "hidden layers 3 (was )");
    assert_null(strstr(k.error.text, "accept_change"));
    k.o = as_it_was;
    k.o.role.vit = (struct fis_vit){2, 2, 1, 1, 4, 1, 1, 4, false};
    refused(&k, "network image 2 x 2 x 1 in patches of 1, 1 blocks of 4 (");
    assert_non_null(strstr(k.error.text, "(was mlp)"));
    assert_null(strstr(k.error.text, "accept_change"));
    k.o = as_it_was;
    k.o.base = "trees";
    refused(&k, "base trees (was none)");
    assert_null(strstr(k.error.text, "accept_change"));
    k.o = as_it_was;
    k.o.n_columns--;
    refused(&k, "columns ");
    k.o = as_it_was;
    k.o.role.positive = 0;
    refused(&k, "positive class no (was yes)");
    k.o = as_it_was;
    k.o.sensitive = sexes;
    k.o.n_sensitive = 1;
    refused(&k, "sensitive columns 'sex' (was 'race', 'sex')");
    k.o = as_it_was;
    k.o.role.selector.criteria.acquisition = &fis_acquisition_entropy;
    refused(&k, "algorithm entropy (was fis+)");
    k.o = as_it_was;
    k.o.sensitive = turned; /* the same groups */
    taken(&k);
    kit_close(&k);
}

/* The newest state, decoded into the arena. */
static struct wire_trainer_state newest_state(const struct kit *k, struct fis_arena *arena)
{
    struct wire_ledger_item item = {0};
    struct fis_error e;
    const struct kit_topic *t = &k->topic[SESSION_LEDGER];
    for (uint32_t i = 0; i < t->n; i++) {
        struct wire_message m = {.key = {t->m[i].key, t->m[i].key_length},
                                 .value = {t->m[i].value, t->m[i].value_length}};
        if (m.key.length == 1 && *t->m[i].key == 0) {
            fis_arena_reset(arena);
            assert_int_equal(wire_ledger_decode(&m, arena, &item, &e), WIRE_OK);
        }
    }
    return item.state;
}

static uint32_t changes_of_newest_version(const struct kit *k, uint64_t *version)
{
    struct wire_assembler *chunks = wire_assembler_new(WIRE_ASSEMBLE_EACH, 8, 0);
    const struct kit_topic *t = &k->topic[SESSION_MODELS];
    struct wire_bytes payload;
    struct wire_model_owned model;
    struct fis_error e;
    uint32_t changes = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (wire_assembler_feed(chunks, (struct wire_bytes){t->m[i].value, t->m[i].value_length},
                                &payload, version, &e) > 0) {
            assert_int_equal(wire_model_decode(payload, &model, &e), 0);
            changes = model.model.n_changes;
            if (changes)
                assert_string_equal(model.model.changes[0].to, "risk_disparity");
            wire_model_done(&model);
        }
    wire_assembler_free(chunks);
    return changes;
}

static void a_change_is_accepted_by_its_code_and_recorded(void **state)
{
    (void)state;
    struct kit k;
    char code[16];
    uint64_t version;
    struct fis_arena arena = {.base = malloc(1 << 16), .size = 1 << 16};
    wrote(&k);
    assert_int_equal(changes_of_newest_version(&k, &version), 0);
    k.o.role.gate.metric = k.o.role.directions.surrogate.metric = FIS_RISK_DISPARITY;
    refused(&k, "metric risk_disparity (was equalized_odds): undo it, or accept");
    snprintf(code, sizeof code, "%s", strrchr(k.error.text, ' ') + 1);
    assert_int_equal(strlen(code), 8);
    k.o.accept_change = "12345678";
    refused(&k, code);
    k.o.accept_change = code;
    taken(&k);
    kit_lead(&k);
    assert_true(kit_noted(&k, "changed"));
    kit_candidates(&k, 0, 60);
    kit_settle(&k);
    for (uint32_t i = 0; i < 4; i++) {
        char id[16];
        const struct kit_topic *t = &k.topic[SESSION_REQUESTS];
        assert_true(t->n >= 4);
        snprintf(id, sizeof id, "%.*s", (int)t->m[i].key_length, t->m[i].key);
        kit_label(&k, id, "yes");
    }
    kit_settle(&k);
    assert_int_equal(changes_of_newest_version(&k, &version), 1);
    assert_int_equal(version, 2);
    struct wire_trainer_state s = newest_state(&k, &arena);
    assert_int_equal(s.identity.n_changes, 1);
    assert_string_equal(s.identity.changes[0].name, "metric");
    assert_string_equal(s.identity.changes[0].from, "equalized_odds");
    assert_int_equal(s.identity.changes[0].version, 2);
    taken(&k); /* the code stays, and nothing differs any more */
    k.o.accept_change = NULL;
    taken(&k);
    kit_lead(&k);
    assert_int_equal(newest_state(&k, &arena).identity.n_changes, 1);
    /* The way back is a change of its own. */
    k.o.role.gate.metric = k.o.role.directions.surrogate.metric = FIS_EQUALIZED_ODDS;
    k.o.accept_change = code;
    refused(&k, "metric equalized_odds (was risk_disparity)");
    free(arena.base);
    kit_close(&k);
}

static void names_are_distinguished_and_long_lists_cut(void **state)
{
    (void)state;
    static const char *const one[] = {"a', 'b"}, *const two[] = {"a", "b"};
    static struct fis_column columns[2000];
    static char names[2000][8];
    struct identity_source from = {.pipeline = "t", .classes = one, .n_classes = 1};
    struct identity a, b;
    struct fis_error e;
    assert_int_equal(identity_init(&a, &from, &e), 0);
    from.classes = two;
    from.n_classes = 2;
    assert_int_equal(identity_init(&b, &from, &e), 0);
    assert_int_equal(identity_compare(&b, a.facts, a.n, NULL, "t.ledger", &e), -FIS_FATAL);
    identity_done(&a);
    identity_done(&b);
    for (int i = 0; i < 2000; i++) {
        snprintf(names[i], sizeof names[i], "\xc3\xa4%d", i);
        columns[i] = (struct fis_column){names[i], FIS_NUMERIC, FIS_SCALE_STANDARD};
    }
    from.columns = columns;
    from.n_columns = 2000;
    assert_int_equal(identity_init(&a, &from, &e), 0);
    assert_true(a.text.length < 1000);
    columns[1999].name = "other";
    assert_int_equal(identity_init(&b, &from, &e), 0);
    assert_int_equal(identity_compare(&b, a.facts, a.n, NULL, "t.ledger", &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "columns"));
    identity_done(&a);
    identity_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_pipeline_is_refused),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
        cmocka_unit_test(a_change_is_accepted_by_its_code_and_recorded),
        cmocka_unit_test(names_are_distinguished_and_long_lists_cut),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
