#include "lab/exp_variant.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"

/* ---- settings ------------------------------------------------------------------------------- */

/* double, float, uint32_t, int, bool (0 or 1), … */
enum kind { REAL, SINGLE, COUNT, NUMBER, FLAG, CORRECTION, WHERE };

struct setting {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct lab_variant */
    double least, most;
    const char *help;
};

#define V(member) offsetof(struct lab_variant, member)

static const struct setting settings[] = {
    {"budget", REAL, V(budget), .01, 100, "times the protocol's labels of a round"},
    {"labels", COUNT, V(options.protocol.labels_per_round), 1, 1e6, "labels of a round"},
    {"rounds", COUNT, V(options.protocol.rounds), 1, LAB_ROUNDS_MAX, "rounds"},
    {"steps", COUNT, V(options.protocol.steps_per_round), 1, 1e6, "training steps of a round"},
    {"warm-up", COUNT, V(options.protocol.warm_up_epochs), 0, 1e4, "epochs before the first round"},
    {"rate", SINGLE, V(options.protocol.learning_rate), 1e-9, 10, "learning rate"},
    {"trees", FLAG, V(options.protocol.trees), 0, 1,
     "0: without a base of boosted trees; no matter for xgb+…, and fis has none"},
    {"tree-count", COUNT, V(options.trees.n), 1, 1e4, "of the base, at most"},
    {"tree-patience", COUNT, V(options.trees.patience), 0, 1e4, "0: so many in every fit"},
    {"tree-depth", COUNT, V(options.trees.depth), 1, FIS_TREES_DEPTH_MAX, "of the base"},
    {"tree-rate", REAL, V(options.trees.rate), 1e-3, 1, "of the base"},
    {"tree-rows", REAL, V(options.trees.rows), 1e-3, 1, "share that each is fitted to"},
    {"tree-columns", REAL, V(options.trees.columns), 1e-3, 1, "likewise, of features"},
    {"tree-growth", REAL, V(options.trees.growth), 0, 1000,
     "of the labels, until they are fitted again"},
    {"balance", FLAG, V(options.protocol.balance), 0, 1, "resample by class and group"},
    {"standardise", FLAG, V(options.protocol.standardise), 0, 1,
     "1: one-hot features too have mean 0 and deviation 1"},
    {"scored", COUNT, V(options.protocol.scored_per_round), 0, 1e9,
     "records looked at in a round; 0: all"},
    {"one-pass", FLAG, V(options.one_pass), 0, 1, "1: the pool once, as a stream of windows"},
    {"delay", COUNT, V(options.delay), 0, 16, "rounds that labels are late"},
    {"validation", REAL, V(validation), .001, 1, "share of the validation rows that is used"},
    {"validation-rows", COUNT, V(options.validation_rows), 0, 1e9,
     "the same as a number of rows; 0: all"},
    {"test-share", REAL, V(options.protocol.test), .001, .999,
     "share of all rows that is for validation and test"},
    {"validation-share", REAL, V(options.protocol.validation), .001, .999,
     "share of those that is for validation"},
    {"fresh", COUNT, V(options.fresh_steps), 0, 1e6,
     "most steps of the network that is published; 0: the anchor is"},
    {"learn-validation", NUMBER, V(options.learn_validation), 0, 1,
     "1: it learns from validation rows' labels too"},
    {"epsilon", REAL, V(options.epsilon), 0, 1, "accuracy that the gate may give up"},
    {"standard-errors", REAL, V(options.standard_errors), 0, 100, "of the rule of replacement"},
    {"mix", SINGLE, V(options.mix), 0, 1, "`fis`: share of a batch that is kept rows"},
    {"strategy", NUMBER, V(options.strategy), 1, 2, "`fis`: proxy labels I or II"},
    {"whole", FLAG, V(options.whole), 0, 1,
     "`fis`: 1: all validation rows guide and judge, however few, as published"},
    {"refreshes", COUNT, V(options.refreshes), 1, 1000, "new directions in a round"},
    {"precondition", NUMBER, V(options.precondition), 0, 1, "directions by Gauss-Newton"},
    {"damping", REAL, V(options.damping), 1e-9, 1e3, "of the preconditioner"},
    {"privacy", REAL, V(options.privacy), 0, 1e6, "noise on directions, in sensitivities"},
    {"clip", REAL, V(options.clip), 1e-9, 1e6, "with privacy: longest gradient of an example"},
    {"label-noise", REAL, V(noise.label_noise), 0, .49, "validation rows with a wrong label"},
    {"group-noise", REAL, V(noise.group_noise), 0, .49, "validation rows with a wrong group"},
    {"direction-noise", REAL, V(noise.direction_noise), 0, 1e6, "times a direction's RMS"},
    {"correction", CORRECTION, V(noise.correction), 0, 0, "none, forward, trim, both"},
    {"where", WHERE, V(noise.where), 0, 0, "corrected: guide, gate, both"},
    {"estimate", FLAG, V(noise.estimate), 0, 1, "1: noise matrices are estimated, not given"},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

const char *lab_variant_setting(uint32_t i, const char **help)
{
    if (i >= SETTINGS)
        return NULL;
    if (help)
        *help = settings[i].help;
    return settings[i].name;
}

static int no_such(const char *name, size_t length, struct fis_error *e)
{
    char names[FIS_ERROR_TEXT - 96] = "";
    for (uint32_t i = 0; i < SETTINGS; i++) {
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, settings[i].name, sizeof names - strlen(names) - 1);
    }
    return fis_fail(e, FIS_INPUT, "setting: found '%.*s', allowed are %s", (int)length, name,
                    names);
}

/* text [length]: a word that is no number. */
static int set_word(const struct setting *s, const char *text, size_t length, void *at,
                    struct fis_error *e)
{
    char word[32] = "";
    strncat(word, text, length < sizeof word ? length : sizeof word - 1);
    int rc = s->kind == CORRECTION ? lab_correction_find(word, at, e)
                                   : lab_correct_where_find(word, at, e);
    return rc < 0 ? fis_error_prefix(e, "setting %s", s->name) : 0;
}

static int set(struct lab_variant *v, const struct setting *s, const char *text, size_t length,
               struct fis_error *e)
{
    void *at = (char *)v + s->offset;
    double value;
    if (s->kind == CORRECTION || s->kind == WHERE)
        return set_word(s, text, length, at, e);
    const bool whole = s->kind != REAL && s->kind != SINGLE;
    if (decimal_read(text, length, &value) || !(value >= s->least && value <= s->most) ||
        (whole && value != floor(value)))
        return fis_fail(e, FIS_INPUT, "setting %s: found '%.*s', allowed is a %s from %g to %g",
                        s->name, (int)length, text, whole ? "whole number" : "number", s->least,
                        s->most);
    if (s->kind == REAL)
        *(double *)at = value;
    else if (s->kind == SINGLE)
        *(float *)at = (float)value;
    else if (s->kind == COUNT)
        *(uint32_t *)at = (uint32_t)value;
    else if (s->kind == FLAG)
        *(bool *)at = value > 0;
    else
        *(int *)at = (int)value;
    return 0;
}

static int apply(struct lab_variant *v, const char *text, size_t length, struct fis_error *e)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;
    for (uint32_t i = 0; i < SETTINGS; i++) {
        if (strlen(settings[i].name) != name || memcmp(settings[i].name, text, name) != 0)
            continue;
        if (!equals)
            return fis_fail(e, FIS_INPUT, "setting %s: found no value, %s=VALUE is expected",
                            settings[i].name, settings[i].name);
        return set(v, &settings[i], equals + 1, length - name - 1, e);
    }
    return no_such(text, name, e);
}

/* ---- what follows from them ----------------------------------------------------------------- */

static bool noisy(const struct lab_variant *v)
{
    return v->noise.label_noise > 0 || v->noise.group_noise > 0 || v->noise.direction_noise > 0 ||
           v->noise.correction != LAB_CORRECT_NONE;
}

/* Rows that a run's split will have for validation. */
static uint32_t validation_rows(const struct lab_variant *v, const struct lab_task *task)
{
    const struct lab_protocol *p = &v->options.protocol;
    return (uint32_t)(p->validation * (uint32_t)(p->test * task->n));
}

static uint32_t share_of(const struct lab_variant *v, uint32_t rows)
{
    return (uint32_t)lround(v->validation * rows);
}

int lab_variant_make(const char *text, const struct lab_options *base, const struct lab_task *task,
                     struct lab_variant *out, struct fis_error *e)
{
    struct lab_variant v = {.options = *base, .validation = 1, .budget = 1};
    int rc = 0;
    lab_noise_default(&v.noise);
    for (const char *at = text + strspn(text, " "); rc == 0 && *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        rc = apply(&v, at, length, e);
        at += length;
    }
    if (rc < 0)
        return rc;
    if (noisy(&v)) /* its own validation rows know of no base */
        v.options.protocol.trees = false;
    if (v.validation < 1 && noisy(&v))
        return fis_fail(e, FIS_INPUT, "setting validation: found %g, with noise only 1 is allowed",
                        v.validation);
    uint32_t *labels = &v.options.protocol.labels_per_round;
    *labels = (uint32_t)lround(fmax(1, v.budget * *labels));
    if (v.validation < 1) {
        uint32_t n = share_of(&v, validation_rows(&v, task));
        if (n < 2)
            return fis_fail(e, FIS_INPUT, "setting validation: %g leaves %u rows", v.validation, n);
        v.options.validation_rows = n;
    }
    *out = v;
    return 0;
}

const struct lab_hooks *lab_variant_hooks(struct lab_variant *v)
{
    if (!noisy(v))
        return NULL;
    v->hooks = lab_noise_hooks(&v->noise);
    return &v->hooks;
}
