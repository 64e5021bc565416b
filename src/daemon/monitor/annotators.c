#include "daemon/monitor/annotators.h"

#include <string.h>

#include "base/utf8.h"
#include "fis/mem.h"
#include "http/http.h"
#include "wire/types.h"

#define SPACE " \t"

void annotators_done(struct annotators *a)
{
    if (a->text)
        explicit_bzero(a->text, a->length);
    fis_free(a->all);
    fis_free(a->text);
    *a = (struct annotators){0};
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

static int check(const struct annotators *a, const char *name, const char *token, uint32_t line,
                 struct fis_error *e)
{
    size_t n = strlen(name);
    if (n > WIRE_ANNOTATOR || utf8_prefix(name, n) != n || has_control(name))
        return fis_fail(e, FIS_INPUT,
                        "found another name on line %u, allowed 1 to %d bytes of UTF-8 without "
                        "control characters",
                        line, WIRE_ANNOTATOR);
    if (http_token_check(token, e) < 0)
        return fis_error_prefix(e, "line %u", line);
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->all[i].token, token) == 0)
            return fis_fail(e, FIS_INPUT,
                            "found the token of line %u on an earlier line, allowed a token for "
                            "one name",
                            line);
    return 0;
}

/* The name ends at the last white space, and the token is behind it. */
static int take_line(struct annotators *a, char *line, uint32_t number, struct fis_error *e)
{
    line += strspn(line, SPACE);
    size_t n = strlen(line);
    while (n && strchr(SPACE "\r", line[n - 1]))
        line[--n] = 0;
    if (!n || *line == '#')
        return 0;
    size_t at = n;
    while (at && !strchr(SPACE, line[at - 1]))
        at--;
    char *token = line + at;
    while (at && strchr(SPACE, line[at - 1]))
        line[--at] = 0;
    if (!at)
        return fis_fail(e, FIS_INPUT, "found one word on line %u, allowed a name and a token",
                        number);
    int rc = check(a, line, token, number, e);
    if (!rc)
        a->all[a->n++] = (struct annotator){line, token};
    return rc;
}

int annotators_parse(struct annotators *a, char *take_text, struct fis_error *e)
{
    uint32_t lines = 1, number = 0;
    int rc = 0;
    for (const char *s = take_text; *s; s++)
        lines += *s == '\n';
    *a = (struct annotators){
        .text = take_text, .length = strlen(take_text), .all = fis_calloc(lines, sizeof *a->all)};
    if (!a->all)
        rc = fis_fail(e, FIS_NOMEM, "no memory for the annotators");
    for (char *line = take_text, *end; !rc && line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = 0;
        rc = take_line(a, line, ++number, e);
    }
    if (!rc && !a->n)
        rc = fis_fail(e, FIS_INPUT, "found nobody, allowed a name and a token on each line");
    if (rc)
        annotators_done(a);
    return rc;
}

const char *annotators_find(const struct annotators *a, const char *token)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < a->n; i++)
        if (http_same_token(a->all[i].token, token))
            name = a->all[i].name;
    return name;
}
