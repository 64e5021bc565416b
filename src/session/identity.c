#include "session/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"

/* A longer value is cut there, and a fingerprint of the whole stands for the rest. */
#define VALUE_MAX 400
#define SHOWN 60 /* of a value in a message */

static const char pipeline_fact[] = "pipeline";
/* A change of these makes another network, or other answers: no version can be compared. */
static const char *const fixed_facts[] = {pipeline_fact, "columns",       "classes",
                                          "network",     "hidden layers", "base"};

static uint64_t fingerprint(uint64_t hash, const char *text)
{
    for (; *text; text++) /* FNV-1a */
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* ---- making -------------------------------------------------------------------------------- */

static int append(struct identity *id, const char *text, struct fis_error *e)
{
    return byte_buffer_append(&id->text, text, strlen(text), e);
}

/* Names may hold anything: two lists are the same text only when they are the same. */
static int append_name(struct identity *id, const char *name, struct fis_error *e)
{
    int rc = append(id, "'", e);
    for (; !rc && *name; name++) {
        if (*name == '\'' || *name == '\\')
            rc = append(id, "\\", e);
        if (!rc)
            rc = byte_buffer_append(&id->text, name, 1, e);
    }
    return rc ? rc : append(id, "'", e);
}

static int append_names(struct identity *id, const char *const *names, uint32_t n,
                        struct fis_error *e)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < n; i++) {
        rc = i ? append(id, ", ", e) : 0;
        if (!rc)
            rc = append_name(id, names[i], e);
    }
    return rc;
}

static int append_columns(struct identity *id, const struct fis_column *columns, uint32_t n,
                          struct fis_error *e)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < n; i++) {
        const struct fis_column *c = &columns[i];
        rc = i ? append(id, ", ", e) : 0;
        if (!rc)
            rc = append_name(id, c->name, e);
        if (!rc)
            rc = append(id,
                        c->type == FIS_CATEGORICAL          ? " categorical"
                        : c->scale == FIS_SCALE_STANDARD    ? " numeric"
                        : c->scale == FIS_SCALE_LOGIT       ? " logit"
                        : c->scale == FIS_SCALE_PROBABILITY ? " probability"
                                                            : " numeric unscaled",
                        e);
    }
    return rc;
}

static int append_widths(struct identity *id, const uint32_t *widths, uint32_t n,
                         struct fis_error *e)
{
    char text[16];
    int rc = 0;
    for (uint32_t i = 0; !rc && i < n; i++) {
        snprintf(text, sizeof text, "%s%" PRIu32, i ? ", " : "", widths[i]);
        rc = append(id, text, e);
    }
    return rc;
}

/* What was appended since `start` becomes the value of a fact; its place is kept as a number, since
 * the buffer may move. */
static int close_fact(struct identity *id, const char *name, size_t start, uint32_t n,
                      struct fis_error *e)
{
    char rest[64];
    int rc = byte_buffer_append(&id->text, "", 1, e);
    if (!rc && id->text.length - start > VALUE_MAX) {
        uint64_t hash = fingerprint(HASH_BEGIN, (char *)id->text.data + start);
        id->text.length = start + VALUE_MAX;
        while (((unsigned char)id->text.data[id->text.length] & 0xc0) == 0x80)
            id->text.length--; /* not inside a character */
        snprintf(rest, sizeof rest, " ... (%" PRIu32 ", %016" PRIx64 ")", n, hash);
        rc = byte_buffer_append(&id->text, rest, strlen(rest) + 1, e);
    }
    id->facts[id->n++] = (struct wire_fact){name, (const char *)(uintptr_t)start};
    return rc;
}

static int add_text(struct identity *id, const char *name, const char *text, struct fis_error *e)
{
    size_t start = id->text.length;
    if (!text)
        return 0;
    int rc = append(id, text, e);
    return rc ? rc : close_fact(id, name, start, 1, e);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In any order they make the same groups. */
static int add_sensitive(struct identity *id, const char *const *names, uint32_t n,
                         struct fis_error *e)
{
    size_t start = id->text.length;
    const char **sorted = n ? (const char **)(uintptr_t)fis_memdup(names, n * sizeof *names) : NULL;
    if (!n)
        return 0;
    if (!sorted)
        return fis_fail(e, FIS_NOMEM, "no memory for the identity of the pipeline");
    qsort(sorted, n, sizeof *sorted, by_name);
    int rc = append_names(id, sorted, n, e);
    fis_free(sorted);
    return rc ? rc : close_fact(id, "sensitive columns", start, n, e);
}

static int add_lists(struct identity *id, const struct identity_source *from, struct fis_error *e)
{
    int rc = 0;
    size_t start = id->text.length;
    if (from->n_columns) {
        rc = append_columns(id, from->columns, from->n_columns, e);
        rc = rc ? rc : close_fact(id, "columns", start, from->n_columns, e);
    }
    start = id->text.length;
    if (!rc && from->n_classes) {
        rc = append_names(id, from->classes, from->n_classes, e);
        rc = rc ? rc : close_fact(id, "classes", start, from->n_classes, e);
    }
    start = id->text.length;
    if (!rc && from->hidden) {
        rc = append_widths(id, from->hidden, from->n_hidden, e);
        rc = rc ? rc : close_fact(id, "hidden layers", start, from->n_hidden, e);
    }
    return rc ? rc : add_sensitive(id, from->sensitive, from->n_sensitive, e);
}

int identity_init(struct identity *id, const struct identity_source *from, struct fis_error *e)
{
    *id = (struct identity){0};
    int rc = add_text(id, pipeline_fact, from->pipeline ? from->pipeline : "", e);
    if (!rc)
        rc = add_lists(id, from, e);
    if (!rc)
        rc = add_text(id, "network", from->network, e);
    if (!rc)
        rc = add_text(id, "base", from->base, e);
    if (!rc)
        rc = add_text(id, "positive class", from->positive, e);
    if (!rc)
        rc = add_text(id, "metric", from->metric, e);
    if (!rc)
        rc = add_text(id, "algorithm", from->algorithm, e);
    if (rc) {
        identity_done(id);
        return rc;
    }
    for (uint32_t i = 0; i < id->n; i++)
        id->facts[i].value = (const char *)id->text.data + (uintptr_t)id->facts[i].value;
    return 0;
}

void identity_done(struct identity *id)
{
    byte_buffer_done(&id->text);
    byte_buffer_done(&id->change_text);
    fis_free(id->changes);
    *id = (struct identity){0};
}

/* ---- comparing ----------------------------------------------------------------------------- */

static const char *value_of(const struct wire_fact *facts, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    return NULL;
}

static bool fixed(const char *name)
{
    for (size_t i = 0; i < sizeof fixed_facts / sizeof *fixed_facts; i++)
        if (strcmp(fixed_facts[i], name) == 0)
            return true;
    return false;
}

/* What `ours` was in `theirs`, when it differs; else NULL. */
static const char *was(const struct wire_fact *ours, const struct wire_fact *theirs, uint32_t n)
{
    const char *there = value_of(theirs, n, ours->name);
    return there && strcmp(there, ours->value) != 0 ? there : NULL;
}

struct difference {
    uint32_t count;
    bool fixed;
    uint64_t hash;
    char text[FIS_ERROR_TEXT];
};

/* Of two long lists what differs, from the beginning of the first item that does. */
static size_t show_difference(char *out, size_t size, const char *before, const char *name,
                              const char *now, const char *then)
{
    size_t from = 0;
    for (size_t same = 0;; same++) {
        if (same > 1 && now[same - 1] == ' ' && now[same - 2] == ',')
            from = same;
        if (!now[same] || now[same] != then[same])
            break;
    }
    from = strlen(now) > SHOWN || strlen(then) > SHOWN ? from : 0;
    const char *cut = from ? "…, " : "";
    return (size_t)snprintf(out, size, "%s%s %s%.*s (was %s%.*s)", before, name, cut, SHOWN,
                            now + from, cut, SHOWN, then + from);
}

static void find_difference(const struct identity *id, const struct wire_fact *theirs,
                            uint32_t n_theirs, struct difference *d)
{
    *d = (struct difference){.hash = HASH_BEGIN};
    size_t used = 0;
    for (uint32_t i = 0; i < id->n; i++) {
        const struct wire_fact *ours = &id->facts[i];
        const char *there = was(ours, theirs, n_theirs);
        if (!there)
            continue;
        d->count++;
        d->fixed |= fixed(ours->name);
        d->hash = fingerprint(fingerprint(d->hash, ours->name), there);
        d->hash = fingerprint(d->hash, ours->value);
        if (used < sizeof d->text / 2)
            used += show_difference(d->text + used, sizeof d->text - used, used ? ", " : "",
                                    ours->name, ours->value, there);
    }
}

int identity_compare(const struct identity *id, const struct wire_fact *theirs, uint32_t n_theirs,
                     const char *accept, const char *where, struct fis_error *e)
{
    struct difference d;
    char code[16];
    const char *other = id->n ? was(&id->facts[0], theirs, n_theirs) : NULL;
    if (other)
        return fis_fail(
            e, FIS_FATAL,
            "%s holds the memory of pipeline %s, and this is pipeline %s: give each its "
            "own topics (topics.prefix)",
            where, other, id->facts[0].value);
    find_difference(id, theirs, n_theirs, &d);
    if (!d.count)
        return 0;
    if (d.fixed)
        return fis_fail(
            e, FIS_FATAL,
            "the configuration differs from the memory on %s: %s: undo it, give the changed "
            "pipeline another name, or begin again (fisctl topics delete)",
            where, d.text);
    snprintf(code, sizeof code, "%08" PRIx32, (uint32_t)(d.hash ^ d.hash >> 32));
    if (accept && strcmp(accept, code) == 0)
        return 0;
    return fis_fail(e, FIS_FATAL,
                    "the configuration differs from the memory on %s: %s: undo it, or accept that "
                    "versions before and after cannot be compared by accept_change: %s",
                    where, d.text, code);
}

static const char *place_text(struct identity *id, const char *text, int *rc, struct fis_error *e)
{
    size_t start = id->change_text.length;
    if (!*rc)
        *rc = byte_buffer_append(&id->change_text, text, strlen(text) + 1, e);
    return (const char *)(uintptr_t)start;
}

static int add_change(struct identity *id, const struct wire_change *c, struct fis_error *e)
{
    int rc = 0;
    struct wire_change *to = &id->changes[id->n_changes++];
    to->version = c->version;
    to->name = place_text(id, c->name, &rc, e);
    to->from = place_text(id, c->from, &rc, e);
    to->to = place_text(id, c->to, &rc, e);
    return rc;
}

static void forget_changes(struct identity *id)
{
    fis_free(id->changes);
    byte_buffer_done(&id->change_text);
    id->changes = NULL;
    id->n_changes = 0;
}

int identity_take_over(struct identity *id, const struct wire_identity *theirs, uint64_t version,
                       struct fis_error *e)
{
    int rc = 0;
    forget_changes(id);
    id->changes = fis_alloc(theirs->n_changes + id->n + 1, sizeof *id->changes);
    if (!id->changes)
        return fis_fail(e, FIS_NOMEM, "no memory for the identity of the pipeline");
    for (uint32_t i = 0; !rc && i < theirs->n_changes; i++)
        rc = add_change(id, &theirs->changes[i], e);
    for (uint32_t i = 0; !rc && i < id->n; i++) {
        const char *there = was(&id->facts[i], theirs->facts, theirs->n_facts);
        const struct wire_change c = {version, id->facts[i].name, there, id->facts[i].value};
        rc = there ? add_change(id, &c, e) : 0;
    }
    if (rc) {
        forget_changes(id);
        return rc;
    }
    const char *text = (const char *)id->change_text.data;
    for (uint32_t i = 0; i < id->n_changes; i++) {
        struct wire_change *c = &id->changes[i];
        c->name = text + (uintptr_t)c->name;
        c->from = text + (uintptr_t)c->from;
        c->to = text + (uintptr_t)c->to;
    }
    return 0;
}

struct wire_identity identity_view(const struct identity *id)
{
    return (struct wire_identity){id->facts, id->n, id->changes, id->n_changes};
}
