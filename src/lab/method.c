#include "lab/method.h"

#include <stdio.h>
#include <string.h>

#define CORE(x) &fis_acquisition_##x
#define OWN(x) &lab_acquisition_##x
#define PUBLICATION(x) &lab_publication_##x

/* Buys nothing: the initial labels alone. */
static void no_score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                     const float *infl_acc, const float *infl_fair, uint32_t classes, float *scores)
{
    (void)c;
    (void)id;
    (void)p;
    (void)infl_acc;
    (void)infl_fair;
    (void)classes;
    (void)scores;
}

const struct fis_acquisition lab_acquisition_none = {
    .name = "none", .criteria = {"none"}, .score = no_score};

/* The lab's further ones; the daemon's come first. */
static const struct fis_acquisition *const acquisitions[] = {OWN(none), OWN(bald), OWN(isal),
                                                             OWN(power), OWN(half_random)};

static const struct lab_publication *const publications[] = {
    PUBLICATION(plain),      PUBLICATION(pub),         PUBLICATION(fis),   PUBLICATION(jtt),
    PUBLICATION(random_val), PUBLICATION(group_aware), PUBLICATION(trees),
};

static const struct {
    const char *name;
    const struct fis_acquisition *acquisition;
    const struct lab_publication *publication;
    const char *summary;
} named[] = {
    {"base", OWN(none), PUBLICATION(plain), "the initial labels alone (ERM)"},
    {"random", CORE(random), PUBLICATION(plain), "random labels, all learnt from alike"},
    {"entropy", CORE(entropy), PUBLICATION(plain),
     "the least certain (what the paper's program calls BALD)"},
    {"bald", OWN(bald), PUBLICATION(plain), "mutual information of an ensemble of five"},
    {"isal", OWN(isal), PUBLICATION(plain),
     "influence on the validation loss at the model's own label, by H^-1"},
    {"jtt", CORE(random), PUBLICATION(jtt),
     "random labels; Just Train Twice, what is wrong counts 20 times"},
    {"random+val", CORE(random), PUBLICATION(random_val),
     "random labels; then fairness-regularised training on the validation rows"},
    {"fis", CORE(fis), PUBLICATION(fis), "Algorithm 1 as published, with its roll-back"},
    {"fis+", CORE(fis_plus), PUBLICATION(pub), "the default of fisd"},
    {"ekg", CORE(ekg), PUBLICATION(pub), "expected kept gain alone, published as fis+"},
    {"product", CORE(product), PUBLICATION(pub), "expected kept gain x entropy, published as fis+"},
    {"random+pub", CORE(random), PUBLICATION(pub), "random labels, published as fis+"},
    {"entropy+pub", CORE(entropy), PUBLICATION(pub), "the least certain, published as fis+"},
    {"group-aware", CORE(random), PUBLICATION(group_aware),
     "random labels, regularised with the group of every training row; privileged"},
    {"xgb+random", CORE(random), PUBLICATION(trees), "boosted trees, fitted again in each round"},
    {"xgb+entropy", CORE(entropy), PUBLICATION(trees),
     "the same on the labels that they are least certain of: what 25 lines of Python do"},
    {"xgb+entropy+pub", CORE(entropy), PUBLICATION(pub),
     "the least certain, published as fis+ over a base of boosted trees"},
};

enum {
    ACQUISITIONS = sizeof acquisitions / sizeof *acquisitions,
    PUBLICATIONS = sizeof publications / sizeof *publications,
    NAMED = sizeof named / sizeof *named
};

const char *lab_method_named(uint32_t i, const char **summary)
{
    if (i >= NAMED)
        return NULL;
    if (summary)
        *summary = named[i].summary;
    return named[i].name;
}

static int no_such(const char *name, struct fis_error *e)
{
    char names[FIS_ERROR_TEXT - 112] = "";
    for (uint32_t i = 0; i < NAMED; i++) {
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, named[i].name, sizeof names - strlen(names) - 1);
    }
    return fis_fail(e, FIS_INPUT, "method: found '%s', allowed are %s; or ACQUISITION/PUBLICATION",
                    name, names);
}

static const struct fis_acquisition *acquisition_at(uint32_t i)
{
    uint32_t core = 0;
    while (fis_acquisition_at(core))
        core++;
    if (i < core)
        return fis_acquisition_at(i);
    return i - core < ACQUISITIONS ? acquisitions[i - core] : NULL;
}

/* "ekg/plain" */
static int pair(const char *name, struct lab_method *out, struct fis_error *e)
{
    const char *slash = strchr(name, '/');
    size_t length = slash ? (size_t)(slash - name) : 0;
    for (uint32_t i = 0; slash && acquisition_at(i); i++)
        if (strlen(acquisition_at(i)->name) == length &&
            memcmp(acquisition_at(i)->name, name, length) == 0)
            out->acquisition = acquisition_at(i);
    for (uint32_t i = 0; slash && i < PUBLICATIONS; i++)
        if (strcmp(publications[i]->name, slash + 1) == 0)
            out->publication = publications[i];
    return out->acquisition && out->publication ? 0 : no_such(name, e);
}

int lab_method_find(const char *name, struct lab_method *out, struct fis_error *e)
{
    struct lab_method m = {.acquisition = NULL};
    int rc = 0;
    snprintf(m.name, sizeof m.name, "%s", name);
    for (uint32_t i = 0; i < NAMED; i++)
        if (strcmp(named[i].name, name) == 0) {
            m.acquisition = named[i].acquisition;
            m.publication = named[i].publication;
        }
    if (!m.acquisition)
        rc = pair(name, &m, e);
    if (rc < 0)
        return rc;
    m.trees = -1;
    if (!strncmp(name, "xgb+", 4) || m.publication->trees_alone)
        m.trees = 1;
    else if (m.publication->mixed || m.publication->split_rows || m.acquisition->begin)
        m.trees = 0; /* as published; or trained on the split's rows, which know of no base */
    *out = m;
    return rc;
}
