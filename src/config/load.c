/*
 * From a file to a configuration: read, check the bytes, parse, walk, settle.
 */
#include "config/load.h"
#include "fis/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A configuration is a page or two; what is larger is some other file. */
#define FILE_MAX ((size_t)1 << 20)

/* Refuses bytes that are no text: the parser would stop at some of them without a word. */
static bool check_bytes(struct load *l, const char *text, size_t length)
{
    size_t bad = config_bad_byte(text, length);
    if (bad == length)
        return true;
    int line = 1, column = 1;
    for (size_t i = 0; i < bad; i++) {
        bool begins = ((unsigned char)text[i] & 0xc0) != 0x80;
        column = text[i] == '\n' ? 1 : column + begins;
        line += text[i] == '\n';
    }
    char found[96];
    snprintf(found, sizeof found, "found the byte 0x%02x, allowed UTF-8 without control characters",
             (unsigned char)text[bad]);
    load_note(l, line, column, found);
    return false;
}

/* Notes the parser's message. */
static void note_syntax(struct load *l)
{
    const struct fy_diag_error *reported;
    void *position = NULL;
    bool any = false;
    while ((reported = fy_diag_errors_iterate(l->diag, &position))) {
        char text[256];
        if (reported->type < FYET_ERROR || any)
            continue;
        snprintf(text, sizeof text, "found what is no YAML: %s", reported->msg);
        load_note(l, reported->line < 1 ? 1 : reported->line,
                  reported->column < 1 ? 1 : reported->column, text);
        any = true;
    }
    if (!any)
        load_note(l, 1, 1, "found what is no YAML");
}

/* The place of "kafka.NAME", which is no option of its own. */
static struct spot property_spot(struct load *l, const char *key)
{
    const char *name = key + strlen("kafka.");
    struct spot at = load_spot(l, "kafka", -1);
    struct fy_node *map = load_target(at.node);
    snprintf(at.path, sizeof at.path, "%s", key);
    at.node = map ? fy_node_mapping_lookup_by_string(map, name, strlen(name)) : NULL;
    return at;
}

static void refuse(void *ctx, const char *key, const char *text)
{
    struct load *l = ctx;
    struct spot at = strncmp(key, "kafka.", 6) == 0 ? property_spot(l, key) : load_spot(l, key, -1);
    load_say(l, &at, text);
}

/* One document and no more: a second one would be ignored, which nobody who wrote it expects. */
static void take_document(struct load *l, struct fy_parser *parser)
{
    struct fy_document *first = fy_parse_load_document(parser), *second = NULL;
    if (first && !fy_parser_get_stream_error(parser))
        second = fy_parse_load_document(parser);
    if (fy_parser_get_stream_error(parser)) {
        note_syntax(l);
    } else {
        struct spot again = {.node = second ? fy_document_root(second) : NULL};
        if (first)
            load_root(l, fy_document_root(first));
        if (second)
            load_problem(l, &again, "a second document", "one");
        if (!l->defaults)
            load_required(l);
        if (!l->defaults && l->problems.count == l->apart && !l->no_memory)
            load_check(l);
        if (l->look && l->problems.count == l->apart && !l->no_memory)
            l->look(l->cfg, refuse, l);
    }
    if (second)
        fy_parse_document_destroy(parser, second);
    if (first)
        fy_parse_document_destroy(parser, first);
}

static void take_text(struct load *l, const char *text, size_t length)
{
    struct fy_diag_cfg quiet;
    fy_diag_cfg_default(&quiet);
    quiet.fp = NULL;
    l->diag = fy_diag_create(&quiet);
    if (!l->diag) {
        l->no_memory = true;
        return;
    }
    fy_diag_set_collect_errors(l->diag, true);
    /* Keys that come twice are found here, with both places known, not by the parser. */
    struct fy_parse_cfg how = {.diag = l->diag,
                               .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG |
                                        FYPCF_ALLOW_DUPLICATE_KEYS | FYPCF_JSON_NONE |
                                        FYPCF_DEFAULT_VERSION_1_2};
    struct fy_parser *parser = fy_parser_create(&how);
    if (!parser || fy_parser_set_string(parser, text, length))
        l->no_memory = true;
    else
        take_document(l, parser);
    fy_parser_destroy(parser);
    fy_diag_destroy(l->diag);
    l->diag = NULL;
}

/* The defaults are read from what --print-config prints: the two cannot differ. */
static int take_defaults(struct config *cfg, struct fis_error *e)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return fis_fail(e, FIS_NOMEM, "no memory for the configuration");
    config_write_defaults(out);
    int closed = fclose(out);
    struct load *l = fis_calloc(1, sizeof *l);
    int rc = 0;
    if (closed || !l) {
        rc = fis_fail(e, FIS_NOMEM, "no memory for the configuration");
    } else {
        l->name = "defaults";
        l->cfg = cfg;
        l->defaults = true;
        take_text(l, text, length);
        if (l->no_memory)
            rc = fis_fail(e, FIS_NOMEM, "no memory for the configuration");
        else if (l->problems.count)
            rc = fis_fail(e, FIS_FATAL, "%s", l->problems.text[0]);
    }
    fis_free(l);
    free(text);
    return rc;
}

static int load_into(struct load *l, const char *text, size_t length, struct fis_error *e)
{
    static const char mark[] = "\xef\xbb\xbf";
    int rc = take_defaults(l->cfg, e);
    if (rc)
        return rc;
    if (length >= 3 && !memcmp(text, mark, 3)) {
        text += 3;
        length -= 3;
    }
    if (check_bytes(l, text, length))
        take_text(l, text, length);
    if (l->no_memory)
        return fis_fail(e, FIS_NOMEM, "%s: no memory for the configuration", l->name);
    if (l->problems.count)
        return fis_fail(e, FIS_INPUT, "%s", l->problems.text[0]);
    return 0;
}

static int load_all_text(const char *name, const char *text, size_t length, config_look_fn *look,
                         struct config *cfg, struct config_problems *problems, struct fis_error *e)
{
    struct config made = {0};
    struct load *l = fis_calloc(1, sizeof *l);
    if (!l)
        return fis_fail(e, FIS_NOMEM, "%s: no memory for the configuration", name);
    l->name = name;
    l->cfg = &made;
    l->look = look;
    int rc = load_into(l, text, length, e);
    if (problems)
        *problems = l->problems;
    fis_free(l);
    if (rc)
        config_done(&made);
    else
        *cfg = made;
    return rc;
}

int config_load_text(const char *name, const char *text, size_t length, struct config *cfg,
                     struct config_problems *problems, struct fis_error *e)
{
    return load_all_text(name, text, length, NULL, cfg, problems, e);
}

static int read_file(const char *path, char *text, size_t *length, struct fis_error *e)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return fis_fail(e, FIS_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    *length = fread(text, 1, FILE_MAX + 1, in);
    int failed = ferror(in) ? errno : 0;
    (void)fclose(in);
    if (failed)
        return fis_fail(e, FIS_INPUT, "%s: cannot be read: %s", path, strerror(failed));
    if (*length > FILE_MAX)
        return fis_fail(e, FIS_INPUT, "%s: found more than 1 MiB, allowed a configuration", path);
    return 0;
}

int config_load_look(const char *path, config_look_fn *look, struct config *cfg,
                     struct config_problems *problems, struct fis_error *e)
{
    struct fis_error local;
    if (!e)
        e = &local;
    if (problems)
        problems->count = 0;
    char *text = fis_alloc(FILE_MAX + 1, 1);
    if (!text)
        return fis_fail(e, FIS_NOMEM, "%s: no memory for the configuration", path);
    size_t length = 0;
    int rc = read_file(path, text, &length, e);
    if (rc && problems) {
        problems->count = 1;
        memcpy(problems->text[0], e->text, sizeof e->text);
    }
    if (!rc)
        rc = load_all_text(path, text, length, look, cfg, problems, e);
    fis_free(text);
    return rc;
}

int config_load_all(const char *path, struct config *cfg, struct config_problems *problems,
                    struct fis_error *e)
{
    return config_load_look(path, NULL, cfg, problems, e);
}

int config_load(const char *path, struct config *cfg, struct fis_error *e)
{
    return config_load_all(path, cfg, NULL, e);
}
