/* -X: properties of librdkafka from the command line, or from a file as kcat and others have it. */
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

/* "file:PATH" with a path from the root: a configuration that is written of it may lie elsewhere.
 */
static const char *whole_path(const char *where, const char *value, char out[PATH_MAX + 8])
{
    char path[PATH_MAX], whole[PATH_MAX];
    if (strncmp(value, mark, strlen(mark)) != 0 || value[strlen(mark)] == '/')
        return value;
    const char *slash = where ? strrchr(where, '/') : NULL;
    int n = snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - where) + 1 : 0,
                     where ? where : "", value + strlen(mark));
    if (n < 0 || (size_t)n >= sizeof path || !realpath(path, whole))
        return value;
    snprintf(out, PATH_MAX + 8, "%s%s", mark, whole);
    return out;
}

/* One NAME=VALUE, which is cut in place; `where` is the file that has it, NULL: the command line.
 */
static int take(struct cli *c, const char *where, char *text, struct fis_error *e)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return fis_fail(e, FIS_INPUT, "found a line that is no NAME=VALUE");
    *equals = 0;
    const char *name = trim(text), *value = trim(equals + 1);
    if (!where && secret_value(name) && strncmp(value, mark, strlen(mark)) != 0)
        return fis_fail(e, FIS_INPUT,
                        "%s: other users of this machine can read a command line; give "
                        "-X %s=file:PATH, or a file of properties",
                        name, name);
    char path[PATH_MAX + 8];
    int rc = config_kafka_set(&c->cfg, name, whole_path(where, value, path), e);
    if (rc)
        return rc;
    return stream_property_check(&(struct stream_property){name, config_kafka(&c->cfg, name)}, e);
}

static int take_file(struct cli *c, const char *path, struct fis_error *e)
{
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    int rc = 0;
    if (!in)
        return fis_fail(e, FIS_INPUT, "--kafka %s: found neither NAME=VALUE nor a file (%s)", path,
                        strerror(errno));
    for (int number = 1; !rc && getline(&line, &size, in) >= 0; number++) {
        char *text = trim(line);
        if (!*text || *text == '#')
            continue;
        rc = take(c, path, text, e);
        if (rc)
            rc = fis_error_prefix(e, "%s:%d", path, number);
    }
    if (line)
        explicit_bzero(line, size);
    free(line);
    fclose(in);
    return rc;
}

int cli_take_properties(struct cli *c, struct fis_error *e)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < c->given.n; i++) {
        if (!strchr(c->given.items[i], '=')) {
            rc = take_file(c, c->given.items[i], e);
            continue;
        }
        char *text = fis_strdup(c->given.items[i]);
        rc = text ? take(c, NULL, text, e) : fis_fail(e, FIS_NOMEM, "no memory for -X");
        rc = rc ? fis_error_prefix(e, "--kafka") : 0;
        fis_free(text);
    }
    return rc;
}
