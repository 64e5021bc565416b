#include "lab/method.h"

#include <stdio.h>
#include <string.h>

#define ACQUISITION(x) &lab_acquisition_##x
#define PUBLICATION(x) &lab_publication_##x

static const struct lab_acquisition *const acquisitions[] = {
    ACQUISITION(none), ACQUISITION(random), ACQUISITION(entropy),
    ACQUISITION(mix),  ACQUISITION(ekg),    ACQUISITION(product),
    ACQUISITION(fis),  ACQUISITION(bald),   ACQUISITION(isal),
};

static const struct lab_publication *const publications[] = {
    PUBLICATION(plain),      PUBLICATION(pub), PUBLICATION(fis),         PUBLICATION(jtt),
    PUBLICATION(random_val), PUBLICATION(ft),  PUBLICATION(group_aware),
};

static const struct {
    const char *name;
    const struct lab_acquisition *acquisition;
    const struct lab_publication *publication;
    const char *summary;
} named[] = {
    {"base", ACQUISITION(none), PUBLICATION(plain), "the initial labels alone (ERM)"},
    {"random", ACQUISITION(random), PUBLICATION(plain), "random labels, all learnt from alike"},
    {"entropy", ACQUISITION(entropy), PUBLICATION(plain),
     "the least certain (what the paper's program calls BALD)"},
    {"bald", ACQUISITION(bald), PUBLICATION(plain), "mutual information of an ensemble of five"},
    {"isal", ACQUISITION(isal), PUBLICATION(plain),
     "influence on the validation loss at the model's own label, by H^-1"},
    {"jtt", ACQUISITION(random), PUBLICATION(jtt),
     "random labels; Just Train Twice, what is wrong counts 20 times"},
    {"random+val", ACQUISITION(random), PUBLICATION(random_val),
     "random labels; then fairness-regularised training on the validation rows"},
    {"fis", ACQUISITION(fis), PUBLICATION(fis), "Algorithm 1 as published, with its roll-back"},
    {"fis+", ACQUISITION(mix), PUBLICATION(pub), "the default of fisd"},
    {"ekg", ACQUISITION(ekg), PUBLICATION(pub), "expected kept gain alone, published as fis+"},
    {"product", ACQUISITION(product), PUBLICATION(pub),
     "expected kept gain x entropy, published as fis+"},
    {"random+pub", ACQUISITION(random), PUBLICATION(pub), "random labels, published as fis+"},
    {"entropy+pub", ACQUISITION(entropy), PUBLICATION(pub), "the least certain, published as fis+"},
    {"fis+ft", ACQUISITION(mix), PUBLICATION(ft), "fis+ with the fine-tune option"},
    {"random+pub+ft", ACQUISITION(random), PUBLICATION(ft), "random labels, published as fis+ft"},
    {"group-aware", ACQUISITION(random), PUBLICATION(group_aware),
     "random labels, regularised with the group of every training row; privileged"},
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

/* "ekg/plain" */
static int pair(const char *name, struct lab_method *out, struct fis_error *e)
{
    const char *slash = strchr(name, '/');
    size_t length = slash ? (size_t)(slash - name) : 0;
    for (uint32_t i = 0; slash && i < ACQUISITIONS; i++)
        if (strlen(acquisitions[i]->name) == length &&
            memcmp(acquisitions[i]->name, name, length) == 0)
            out->acquisition = acquisitions[i];
    for (uint32_t i = 0; slash && i < PUBLICATIONS; i++)
        if (strcmp(publications[i]->name, slash + 1) == 0)
            out->publication = publications[i];
    return out->acquisition && out->publication ? 0 : no_such(name, e);
}

int lab_method_find(const char *name, struct lab_method *out, struct fis_error *e)
{
    struct lab_method m = {.acquisition = NULL};
    int r = 0;
    snprintf(m.name, sizeof m.name, "%s", name);
    for (uint32_t i = 0; i < NAMED; i++)
        if (strcmp(named[i].name, name) == 0) {
            m.acquisition = named[i].acquisition;
            m.publication = named[i].publication;
        }
    if (!m.acquisition)
        r = pair(name, &m, e);
    if (r == 0)
        *out = m;
    return r;
}
