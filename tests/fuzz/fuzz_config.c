/*
 * Configuration files. What loads is printed and loads again to the same; a password is in no error
 * and in no print.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

#include "config/config.h"

#define NAME "/etc/fisd/fuzz.yaml"
#define PASSWORD "kafka:\n  sasl.password: " FUZZ_MARKER

/* The marker once, as a password and in nothing that a quote or a block could make of it. */
static int has_password(const char *text, size_t length)
{
    const size_t n = sizeof PASSWORD - 1;
    if (fuzz_markers(text, length) != 1)
        return 0;
    for (size_t i = 0; i + n <= length; i++) {
        if (memcmp(text + i, PASSWORD, n) == 0)
            return !i || text[i - 1] == '\n';
        if (strchr("'\"|>", text[i]))
            return 0;
    }
    return 0;
}

static void check_text(const char *text, int password)
{
    if (password && fuzz_markers(text, strlen(text)))
        FUZZ_FAIL("a password is shown: %s", text);
}

static char *printed(const struct config *cfg, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    FUZZ_HOLDS(out);
    config_print(cfg, out);
    FUZZ_HOLDS(fclose(out) == 0);
    return text;
}

static void check_loaded(const struct config *cfg, int password)
{
    struct config again;
    struct fis_error e = {0};
    size_t length, length_again;
    char *text = printed(cfg, &length);
    FUZZ_HOLDS(cfg->pipeline && cfg->roles && cfg->classes.count >= 2);
    check_text(text, password);
    if (config_load_text(NAME, text, length, &again, NULL, &e)) {
        /* Stars are no key: noise made from them could be worked out by anyone. */
        if (!strstr(text, "key: \"***\"") || !strstr(e.text, "'privacy.key'"))
            FUZZ_FAIL("what was printed does not load: %s\n%s", e.text, text);
        free(text);
        return;
    }
    char *text_again = printed(&again, &length_again);
    if (length != length_again || memcmp(text, text_again, length))
        FUZZ_FAIL("printed twice, and different:\n%s\n----\n%s", text, text_again);
    config_done(&again);
    free(text);
    free(text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct config cfg;
    struct config_problems *problems = calloc(1, sizeof *problems);
    struct fis_error e = {0};
    FUZZ_HOLDS(problems);
    int password = has_password(text, size);
    int rc = config_load_text(NAME, text, size, &cfg, problems, &e);
    fuzz_check_result(rc, &e);
    if (rc) {
        FUZZ_HOLDS(problems->count > 0 || e.kind == FIS_NOMEM);
        check_text(e.text, password);
    } else {
        FUZZ_HOLDS(problems->count == 0);
        check_loaded(&cfg, password);
        config_done(&cfg);
    }
    for (uint32_t i = 0; i < problems->count && i < CONFIG_PROBLEMS_MAX; i++) {
        struct fis_error problem = {.kind = FIS_INPUT};
        snprintf(problem.text, sizeof problem.text, "%s", problems->text[i]);
        fuzz_check_error(&problem);
        check_text(problem.text, password);
    }
    free(problems);
    return 0;
}
