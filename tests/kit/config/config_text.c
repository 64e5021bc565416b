#include "kit/config/config_text.h"

struct config config_text_load(const char *name, const char *text)
{
    struct config cfg;
    struct fis_error e = {0};
    if (config_load_text(name, text, strlen(text), &cfg, NULL, &e)) {
        print_error("%s\n", e.text);
        fail();
    }
    return cfg;
}

char *config_text_printed(void (*write)(FILE *))
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    write(out);
    assert_int_equal(fclose(out), 0);
    return text;
}

char *config_text_effective(const struct config *cfg)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    config_print(cfg, out);
    assert_int_equal(fclose(out), 0);
    return text;
}
