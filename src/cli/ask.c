#include "cli/ask.h"

#include <string.h>

#include "cli/options.h"

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0;
}

void ask_init(struct ask *a, const char *const *classes, uint32_t n_classes)
{
    *a = (struct ask){.classes = classes, .n_classes = n_classes, .numbered = true, .prefix = ""};
    for (uint32_t k = 0; k < n_classes; k++) {
        const char *name = classes[k];
        if (is_number(name))
            a->numbered = false;
        if (*name && !name[1] && strchr("suq", *name))
            a->prefix = ":";
    }
}

void ask_print(const struct ask *a, FILE *out)
{
    for (uint32_t k = 0; k < a->n_classes; k++) {
        if (a->numbered)
            fprintf(out, "%u) ", k + 1);
        fprintf(out, "%s   ", a->classes[k]);
    }
    fprintf(out, "%ss) skip   %su) unsure   %sq) quit\n", a->prefix, a->prefix, a->prefix);
}

static enum ask_answer key(const struct ask *a, const char *text)
{
    size_t n = strlen(a->prefix);
    if (strncmp(text, a->prefix, n) || !text[n] || text[n + 1])
        return ASK_AGAIN;
    switch (text[n]) {
    case 's':
        return ASK_SKIP;
    case 'u':
        return ASK_UNSURE;
    case 'q':
        return ASK_QUIT;
    default:
        return ASK_AGAIN;
    }
}

enum ask_answer ask_read(const struct ask *a, const char *line, uint32_t *class_index)
{
    char text[512];
    uint64_t number;
    size_t from = strspn(line, " \t\r\n"), n = strlen(line + from);
    while (n > 0 && strchr(" \t\r\n", line[from + n - 1]))
        n--;
    if (n == 0 || n >= sizeof text)
        return ASK_AGAIN;
    memcpy(text, line + from, n);
    text[n] = 0;
    for (uint32_t k = 0; k < a->n_classes; k++)
        if (!strcmp(a->classes[k], text)) {
            *class_index = k;
            return ASK_CLASS;
        }
    if (a->numbered && !cli_count(text, &number) && number <= a->n_classes) {
        *class_index = (uint32_t)number - 1;
        return ASK_CLASS;
    }
    return key(a, text);
}
