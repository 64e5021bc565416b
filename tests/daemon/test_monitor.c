/* The parts of the monitor that need no broker: histograms, the list of versions, librdkafka's
 * statistics, readiness in words, and the text of the metrics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/monitor/alarms.h"
#include "daemon/monitor/fleet_view.h"
#include "daemon/monitor/metrics.h"
#include "fis/mem.h"

/* ---- histograms ------------------------------------------------------------------------------ */

static void histogram_counts(void **state)
{
    static const double bounds[] = {1, 2, 4};
    struct histogram h;
    (void)state;
    histogram_init(&h, bounds, 3);
    assert_true(isnan(histogram_quantile(&h, .5)));
    histogram_observe(&h, 1, 1); /* on a bound: below it */
    histogram_observe(&h, 1.5, 2);
    histogram_observe(&h, 9, 1);
    histogram_observe(&h, -1, 5);
    histogram_observe(&h, (double)NAN, 5);
    histogram_observe(&h, 3, 0);
    assert_int_equal(h.count, 4);
    assert_int_equal(h.counts[0], 1);
    assert_int_equal(h.counts[1], 2);
    assert_int_equal(h.counts[2], 0);
    assert_int_equal(h.counts[3], 1);
    assert_true(h.sum == 13 && h.max == 9);
    assert_true(histogram_quantile(&h, .5) == 1.5);
    assert_true(histogram_quantile(&h, 1) == 9);
}

/* ---- versions -------------------------------------------------------------------------------- */

static void add(struct version_log *l, uint64_t version, int served, const char *reason)
{
    struct wire_model m = {.version = version, .served = served, .reason = reason};
    m.verdict = served ? "publish" : "reject";
    version_log_add(l, &m);
}

static void versions_are_kept(void **state)
{
    struct fis_error e;
    struct version_log *l = version_log_new(&e);
    uint32_t n;
    (void)state;
    assert_null(version_log_at(l, 0));
    assert_null(version_log_served(l));
    add(l, 1, 1, "first");
    add(l, 2, 0, "not_fairer");
    add(l, 3, 0, "not_fairer");
    add(l, 2, 1, "fairer"); /* read again: passed over */
    assert_int_equal(version_log_count(l), 3);
    assert_int_equal(version_log_at(l, 0)->version, 3);
    assert_int_equal(version_log_served(l)->version, 1);
    assert_int_equal(version_log_rejected_in_row(l), 2);
    assert_string_equal(version_log_find(l, 2)->reason, "not_fairer");
    assert_null(version_log_find(l, 4));
    assert_string_equal(version_log_rejected_as(l), "not_fairer");
    add(l, 4, 0, "pinned"); /* neither one more nor an end */
    assert_int_equal(version_log_rejected_in_row(l), 2);
    assert_string_equal(version_log_rejected_as(l), "not_fairer");
    for (uint64_t v = 5; v <= 2 * VERSION_LOG_MAX; v++)
        add(l, v, v % 2 == 0, v % 2 ? "below_floor" : "fairer");
    assert_int_equal(version_log_count(l), VERSION_LOG_MAX);
    assert_int_equal(version_log_at(l, VERSION_LOG_MAX - 1)->version, VERSION_LOG_MAX + 1);
    assert_null(version_log_at(l, VERSION_LOG_MAX));
    assert_int_equal(version_log_rejected_in_row(l), 0);
    assert_string_equal(version_log_rejected_as(l), "");
    const struct version_reason *r = version_log_reasons(l, &n);
    assert_int_equal(n, 5);
    assert_string_equal(r[1].reason, "not_fairer");
    assert_int_equal(r[1].count, 2);
    version_log_free(l);
}

static void reasons_have_a_bound(void **state)
{
    struct fis_error e;
    struct version_log *l = version_log_new(&e);
    uint32_t n;
    (void)state;
    for (uint64_t v = 1; v <= 100; v++) {
        char reason[100];
        snprintf(reason, sizeof reason, "%llu-%080d", (unsigned long long)v, 0);
        add(l, v, 0, reason);
    }
    version_log_reasons(l, &n);
    assert_int_equal(n, VERSION_LOG_REASONS);
    version_log_free(l);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void statistics_are_read(void **state)
{
    static const char text[] =
        "{\"msg_cnt\":3,\"msg_size\":30,\"txmsgs\":7,\"txmsg_bytes\":70,\"rxmsgs\":-1,"
        "\"cgrp\":{\"rebalance_cnt\":2},\"brokers\":{"
        "\"a\":{\"source\":\"configured\",\"state\":\"UP\",\"rtt\":{\"avg\":1500,\"p99\":9000},"
        "\"txerrs\":1,\"rxerrs\":2,\"req_timeouts\":4,\"outbuf_cnt\":5,\"disconnects\":1},"
        "\"b\":{\"source\":\"learned\",\"state\":\"DOWN\",\"rtt\":{\"avg\":500,\"p99\":10000}},"
        "\"c\":{\"source\":\"internal\",\"state\":\"UP\"}}}";
    struct kafka_stats k;
    (void)state;
    assert_int_equal(kafka_stats_parse(text, sizeof text - 1, &k), 0);
    assert_int_equal(k.brokers, 2);
    assert_int_equal(k.brokers_up, 1);
    assert_true(fabs(k.rtt_seconds - .0015) < 1e-12 && fabs(k.rtt_p99_seconds - .01) < 1e-12);
    assert_int_equal(k.request_errors, 3);
    assert_int_equal(k.request_timeouts, 4);
    assert_int_equal(k.requests_waiting, 5);
    assert_int_equal(k.queue_messages, 3);
    assert_int_equal(k.received_bytes, 0);
    assert_int_equal(k.rebalances, 2);
}

static void bad_statistics_are_refused(void **state)
{
    static const char *const bad[] = {"", "[]", "{", "{\"brokers\":", "nul", "{} {}"};
    static const char *const odd[] = {"{}", "{\"brokers\":[]}", "{\"brokers\":{\"a\":7}}",
                                      "{\"cgrp\":\"x\",\"msg_cnt\":\"y\"}"};
    struct kafka_stats k;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(kafka_stats_parse(bad[i], strlen(bad[i]), &k), -1);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_int_equal(kafka_stats_parse(odd[i], strlen(odd[i]), &k), 0);
        assert_int_equal(k.brokers_up, 0);
    }
}

/* ---- the pipeline's processes ---------------------------------------------------------------- */

static void processes_are_summed(void **state)
{
    struct fleet_process others[] = {
        {{.name = "a",
          .scores = true,
          .ready = true,
          .interval_ms = 5000,
          .scorer = {.partitions = 2, .records = 100, .per_second = 10, .lag = 7}},
         100000},
        {{.name = "b",
          .scores = true,
          .interval_ms = 5000,
          .scorer = {.records = 20, .per_second = 1, .lag = -1}},
         100000}, /* no partition */
        {{.name = "killed",
          .scores = true,
          .ready = true,
          .interval_ms = 5000,
          .trains = true,
          .leads = true,
          .scorer = {.records = 1000, .per_second = 99}},
         1000},
        {{.name = "old", .trains = true, .ready = true, .leads = true, .interval_ms = 5000}, 90000},
        {{.name = "new", .trains = true, .leads = true, .interval_ms = 5000}, 99000},
    };
    struct status s = {.mono_ms = 101000, .fleet = others, .n_fleet = 5};
    (void)state;
    s.self = (struct wire_process){.name = "self", .trains = true, .ready = true};
    struct fleet_sums sum = fleet_view_sums(&s);
    assert_int_equal(sum.processes, 5);
    assert_int_equal(sum.silent, 1);
    assert_int_equal(sum.scorers, 2);
    assert_int_equal(sum.scorers_ready, 1);
    assert_int_equal(sum.trainers, 3);
    assert_int_equal(sum.trainers_ready, 3);
    assert_true(sum.per_second == 11 && sum.records == 120 && sum.lag == 7);
    assert_string_equal(sum.leader->name, "new"); /* it has reported last */
    s.self.leads = true;
    assert_string_equal(fleet_view_sums(&s).leader->name, "self");
    others[1].p.scorer.partitions = 1; /* whose lag is not known */
    assert_int_equal(fleet_view_sums(&s).lag, -1);
    s.n_fleet = 0;
    s.self.leads = false;
    assert_null(fleet_view_sums(&s).leader);
}

/* ---- readiness ------------------------------------------------------------------------------- */

static void not_ready(const struct status *s, const char *words)
{
    char reason[STATUS_REASON];
    assert_false(status_ready(s, reason));
    if (!strstr(reason, words))
        fail_msg("\"%s\" is not in \"%s\"", words, reason);
}

static void readiness_in_words(void **state)
{
    char reason[STATUS_REASON];
    struct status s = {.scorer.on = true, .trainer.on = true};
    (void)state;
    not_ready(&s, "no broker has answered yet");
    strcpy(s.broker_trouble, "connection refused");
    not_ready(&s, "connection refused");
    s.started = true;
    not_ready(&s, "no broker is reached");
    s.broker_seen = true;
    not_ready(&s, "trainer: it has not begun");
    s.trainer.state = ELECTION_STANDBY;
    not_ready(&s, "reading ledger");
    s.trainer.warm = true;
    not_ready(&s, "scorer: it has not begun");
    s.scorer.open = true;
    not_ready(&s, "no head");
    s.scorer.head_version = 1;
    not_ready(&s, "no partition");
    s.scorer.owned = 1;
    assert_true(status_ready(&s, reason));
    s.trainer.state = ELECTION_LEAD;
    not_ready(&s, "loading");
    s.trainer.running = true;
    not_ready(&s, "warming up");
    s.trainer.counts.head_version = 1;
    assert_true(status_ready(&s, reason));
    assert_string_equal(reason, "");
    s.stopping = true;
    not_ready(&s, "stopping");
}

static void a_line_always_fits(void **state)
{
    struct status s = {.started = true,
                       .scorer = {.on = true, .open = true, .lag = INT64_MAX},
                       .trainer = {.on = true, .running = true}};
    (void)state;
    s.scorer.head_version = s.scorer.owned = 1;
    s.trainer.counts = (struct trainer_role_counts){.phase = "label", .round = UINT32_MAX};
    for (size_t size = 1; size < 200; size++) {
        char *line = malloc(size);
        status_line(&s, line, size);
        assert_true(strlen(line) < size);
        free(line);
    }
}

/* ---- the text -------------------------------------------------------------------------------- */

static void labels_are_escaped(void **state)
{
    char labels[METRICS_LABELS] = "";
    char longer[2 * METRICS_LABELS];
    (void)state;
    metrics_label(labels, "a", "x\"y\\z\nw");
    metrics_label(labels, "b", "");
    assert_string_equal(labels, "a=\"x\\\"y\\\\z w\",b=\"\"");
    memset(longer, '"', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    metrics_label(labels, "c", longer);
    assert_true(strlen(labels) < METRICS_LABELS);
    assert_int_equal(labels[strlen(labels) - 1], '"');
    for (int i = 0; i < 300; i++)
        metrics_label(labels, "more", "v");
    assert_true(strlen(labels) < METRICS_LABELS);
}

/* Whatever is known, or nothing at all, the table can be written. */
static void metrics_of_nothing(void **state)
{
    struct fis_error e;
    struct config cfg = {.pipeline = (char *)(uintptr_t) "p"};
    struct histogram loop;
    struct version_log *versions = version_log_new(&e);
    struct status s = {.cfg = &cfg, .versions = versions, .loop_seconds = &loop};
    struct http_reply out = {.status = 200};
    struct alarms alarms;
    (void)state;
    alarms_init(&alarms);
    s.alarms = &alarms;
    cfg.topics.records = cfg.topics.labels = cfg.topics.candidates = cfg.topics.control =
        (char *)(uintptr_t) "t";
    histogram_init(&loop, histogram_seconds, histogram_seconds_n);
    s.trainer.counts.phase = "new";
    for (int all = 0; all < 2; all++) {
        s.scorer.on = s.scorer.open = s.trainer.on = s.trainer.running = all != 0;
        out.body.length = 0;
        metrics_write(&s, &out);
        assert_false(out.no_memory);
        http_write(&out, "", 1);
        const char *text = (const char *)out.body.data;
        assert_non_null(strstr(text, "# TYPE fisd_build_info gauge\n"));
        assert_int_equal(strstr(text, "# TYPE fisd_round gauge\n") != NULL, all);
        assert_null(strstr(text, "nan"));
    }
    byte_buffer_done(&out.body);
    version_log_free(versions);
}

static void names_follow_the_rules(void **state)
{
    (void)state;
    for (const struct metric *m = metrics_table; m->name; m++) {
        size_t n = strlen(m->name);
        int total = n > 6 && strcmp(m->name + n - 6, "_total") == 0;
        assert_int_equal(total, strcmp(m->type, "counter") == 0);
        assert_int_equal(strspn(m->name, "abcdefghijklmnopqrstuvwxyz0123456789_"), n);
        assert_int_equal(!m->from.figure.kind + !m->from.value + !m->from.parts + !m->from.write,
                         m->from.figure.kind && m->from.write ? 2 : 3);
        assert_true(m->help[strlen(m->help) - 1] == '.');
        for (const struct metric *other = metrics_table; other != m; other++)
            assert_string_not_equal(other->name, m->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histogram_counts),           cmocka_unit_test(versions_are_kept),
        cmocka_unit_test(reasons_have_a_bound),       cmocka_unit_test(statistics_are_read),
        cmocka_unit_test(bad_statistics_are_refused), cmocka_unit_test(processes_are_summed),
        cmocka_unit_test(readiness_in_words),         cmocka_unit_test(a_line_always_fits),
        cmocka_unit_test(labels_are_escaped),         cmocka_unit_test(metrics_of_nothing),
        cmocka_unit_test(names_follow_the_rules),
    };
    return cmocka_run_group_tests_name("monitor", tests, NULL, NULL);
}
