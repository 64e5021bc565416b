/* Properties from the command line, or from a file as kcat and others have it. */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "fis/mem.h"

static const char mark[] = "file:";

static char *trim(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1]))
        text[--n] = 0;
    return text;
}

/* What properties are taken for. */
struct taking {
    const char *option; /* "kafka" of --kafka */
    const char *bare;   /* what a URL alone is a value of, or NULL */
    cli_property_fn *check;
    struct config_properties *into;
};

/* "file:PATH", or the name of a file, with a path from the root: a configuration that is written of
 * it may lie elsewhere. */
static const char *whole_path(const char *where, const char *name, const char *value,
                              char out[PATH_MAX + 8])
{
    char path[PATH_MAX], whole[PATH_MAX];
    const char *before = !strncmp(value, mark, strlen(mark)) ? mark : "";
    const char *file = value + strlen(before);
    if ((!*before && !config_property_is_path(name, value)) || *file == '/')
        return value;
    const char *slash = where ? strrchr(where, '/') : NULL;
    int n = snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - where) + 1 : 0,
                     where ? where : "", file);
    if (n < 0 || (size_t)n >= sizeof path || !realpath(path, whole))
        return value;
    snprintf(out, PATH_MAX + 8, "%s%s", before, whole);
    return out;
}

static int set(const struct taking *t, const char *where, const char *name, const char *value,
               struct fis_error *e)
{
    char path[PATH_MAX + 8];
    const struct config_properties *p = t->into;
    int rc = config_property_set(t->into, name, whole_path(where, name, value, path), e);
    for (uint32_t i = 0; !rc && t->check && i < p->count; i++)
        if (!strcmp(p->items[i].name, name))
            rc = t->check(&(struct stream_property){name, p->items[i].value}, e);
    return rc;
}

/* One NAME=VALUE, which is cut in place; `where` is the file that has it, NULL: the command line.
 */
static int take(const struct taking *t, const char *where, char *text, struct fis_error *e)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return fis_fail(e, FIS_INPUT, "found a line that is no NAME=VALUE");
    *equals = 0;
    const char *name = trim(text), *value = trim(equals + 1);
    if (!where && secret_value(name) && strncmp(value, mark, strlen(mark)) != 0)
        return fis_fail(e, FIS_INPUT,
                        "%s: other users of this machine can read a command line; give "
                        "%s=file:PATH, or a file of properties",
                        name, name);
    return set(t, where, name, value, e);
}

static int take_file(const struct taking *t, const char *path, struct fis_error *e)
{
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    int rc = 0;
    if (!in)
        return fis_fail(e, FIS_INPUT, "--%s %s: found neither %sNAME=VALUE nor a file (%s)",
                        t->option, path, t->bare ? "http://HOST, https://HOST, " : "",
                        strerror(errno));
    for (int number = 1; !rc && getline(&line, &size, in) >= 0; number++) {
        char *text = trim(line);
        if (!*text || *text == '#')
            continue;
        rc = take(t, path, text, e);
        if (rc)
            rc = fis_error_prefix(e, "%s:%d", path, number);
    }
    if (line)
        explicit_bzero(line, size);
    free(line);
    fclose(in);
    return rc;
}

static bool is_url(const char *text)
{
    const char *scheme = strstr(text, "://"), *equals = strchr(text, '=');
    return scheme && (!equals || scheme < equals);
}

int cli_take_properties(const struct cli_properties *given, const char *option, const char *bare,
                        cli_property_fn *check, struct config_properties *into, struct fis_error *e)
{
    const struct taking t = {option, bare, check, into};
    int rc = 0;
    for (uint32_t i = 0; !rc && i < given->n; i++) {
        const char *item = given->items[i];
        if (bare && is_url(item)) {
            rc = set(&t, NULL, bare, item, e);
        } else if (!strchr(item, '=')) {
            rc = take_file(&t, item, e);
        } else {
            char *text = fis_strdup(item);
            rc = text ? take(&t, NULL, text, e) : fis_fail(e, FIS_NOMEM, "no memory for it");
            rc = rc ? fis_error_prefix(e, "--%s", option) : 0;
            fis_free(text);
        }
    }
    return rc;
}

int cli_take_kafka(struct cli *c, struct fis_error *e)
{
    const char *protocol, *broker;
    int rc = cli_take_properties(&c->given, "kafka", NULL, stream_property_check, &c->cfg.kafka, e);
    if (rc || !(broker = cli_broker(c)))
        return rc;
    protocol = config_kafka(&c->cfg, "security.protocol");
    rc = stream_brokers_check(broker, protocol ? protocol : "plaintext", e);
    return rc && c->bootstrap ? fis_error_prefix(e, "-b") : rc;
}
