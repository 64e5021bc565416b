/*
 * fisctl watch in words: lines of key=value, or the view of a terminal.
 */
#include <math.h>

#include "cli/screen.h"
#include "cli/watch.h"

static void print_number(const char *key, double x)
{
    if (isfinite(x))
        printf(" %s=%.4f", key, x);
}

void watch_print_version(const struct wire_model *m, int64_t wall_ms)
{
    char when[32], word[64];
    snprintf(word, sizeof word, "%s", m->reason ? m->reason : "");
    screen_clean(word);
    printf("%s version version=%llu round=%u verdict=%s reason=%s", screen_time(wall_ms, when),
           (unsigned long long)m->version, m->round, m->served ? "publish" : "reject", word);
    for (enum wire_metric i = 0; i <= WIRE_EQUALIZED_ODDS; i++)
        if (i != WIRE_BALANCED_ACCURACY)
            print_number(wire_metric_numbers[i].name, wire_metric_of(&m->metrics, i));
    printf(" labels=%llu kept=%llu\n", (unsigned long long)m->labels_bought,
           (unsigned long long)m->labels_kept);
}

void watch_print_head(const struct watch *w, int64_t wall_ms)
{
    char when[32];
    printf("%s head version=%llu\n", screen_time(wall_ms, when),
           (unsigned long long)w->head_version);
}

void watch_print_progress(const struct watch *w, int64_t wall_ms)
{
    char when[32];
    struct asking asking = watch_asking(w, wall_ms);
    printf("%s progress records=%llu rate=%.0f refused=%llu candidates=%llu requests=%llu "
           "labels=%llu skipped=%llu open=%llu withdrawn=%llu paused=%u pinned=%u window=%llu "
           "asking=%s text=\"%s\"\n",
           screen_time(wall_ms, when), (unsigned long long)w->records, w->rate,
           (unsigned long long)w->refused, (unsigned long long)w->candidates,
           (unsigned long long)w->requests, (unsigned long long)w->labels,
           (unsigned long long)w->passed, (unsigned long long)w->open.count,
           (unsigned long long)w->withdrawn, w->ledger.state.paused, w->ledger.state.pinned,
           (unsigned long long)w->ledger.state.window_records, asking_name(asking.state),
           asking.text);
}

/* "########------  62 %" */
static void bar(double part, int width, FILE *out)
{
    int full = (int)(part * width + .5);
    for (int i = 0; i < width; i++)
        fputc(i < full ? '#' : '-', out);
    fprintf(out, " %3.0f %%", part * 100);
}

static void view_model(const char *title, const struct wire_model *m, bool why, FILE *out)
{
    char a[48], b[48], word[64];
    fprintf(out, "%-12s", title);
    if (!m) {
        fprintf(out, "none yet\n");
        return;
    }
    fprintf(out, "version %llu, round %u", (unsigned long long)m->version, m->round);
    if (why)
        fprintf(out, ", %s: %s", models_verdict(m), models_reason(m, word));
    fprintf(out, "\n%-12saccuracy %s  EOd %s\n", "",
            models_metric(&m->metrics, &m->intervals, WIRE_ACCURACY, a),
            models_metric(&m->metrics, &m->intervals, WIRE_EQUALIZED_ODDS, b));
}

static void view_counts(const struct watch *w, int64_t wall_ms, FILE *out)
{
    const struct config_selection *s = &w->cli->cfg.selection;
    char a[DECIMAL_GROUPED], b[DECIMAL_GROUPED];
    fprintf(out, "%-12s%s scored, %.0f/s", "records", decimal_grouped(w->records, a), w->rate);
    if (w->refused)
        fprintf(out, ", %s refused", decimal_grouped(w->refused, b));
    fprintf(out, "\n%-12s%s offered by the scorers\n", "candidates",
            decimal_grouped(w->candidates, a));
    fprintf(out, "%-12s%s asked, %llu open", "labels", decimal_grouped(w->requests, a),
            (unsigned long long)w->open.count);
    if (w->passed)
        fprintf(out, ", %llu skipped", (unsigned long long)w->passed);
    if (w->withdrawn)
        fprintf(out, ", %llu withdrawn", (unsigned long long)w->withdrawn);
    if (w->ledger.found)
        fprintf(out, "\n%-12s%s", "asking", watch_asking(w, wall_ms).text);
    if (s->budget) {
        fprintf(out, "\n%-12s", "budget");
        double part = (double)w->labels / (double)s->budget;
        bar(part < 1 ? part : 1, 32, out);
        fprintf(out, " of %s labels", decimal_grouped(s->budget, b));
    }
    fprintf(out, "\n%-12sversion %llu\n", "head", (unsigned long long)w->head_version);
}

/* What the validation rows can show, by the newest version that was judged. */
static void view_detectable(const struct wire_model *m, FILE *out)
{
    if (m && isfinite(m->detectable))
        fprintf(out, "%-12s%s from %.4f on, on %u validation rows\n", "detectable", m->metric,
                m->detectable, m->metrics.n);
}

void watch_view(const struct watch *w, int64_t since_ms, int64_t wall_ms, FILE *out)
{
    int64_t s = since_ms / 1000;
    fprintf(out, "%s on %s%s", w->cli->cfg.pipeline, w->cli->broker,
            w->cli->embedded ? " (embedded)" : "");
    fprintf(out, ", watched for %lld:%02lld\n\n", (long long)(s / 60), (long long)(s % 60));
    view_counts(w, wall_ms, out);
    view_model(w->ledger.state.pinned ? "pinned" : "served", models_served(&w->models), false, out);
    view_model("newest", watch_last(w), true, out);
    view_detectable(watch_last(w), out);
}
