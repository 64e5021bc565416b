/*
 * Secrets that stand elsewhere: "file:/path", and "credential:name" for one that systemd hands over
 * (LoadCredential=, in the directory that $CREDENTIALS_DIRECTORY names).
 */
#include "config/load.h"
#include "fis/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MAX 65536u /* a key in PEM, with its chain */

static const char file_mark[] = "file:", credential_mark[] = "credential:";

bool load_is_reference(const char *text)
{
    return !strncmp(text, file_mark, sizeof file_mark - 1) ||
           !strncmp(text, credential_mark, sizeof credential_mark - 1);
}

/* The path that is meant; false when it is none (and noted). */
static bool path_of(struct load *l, const struct spot *at, const char *text, char *path,
                    size_t size)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    int n;
    if (!strncmp(text, file_mark, sizeof file_mark - 1)) {
        const char *name = text + sizeof file_mark - 1, *slash = strrchr(l->name, '/');
        int before = *name != '/' && slash ? (int)(slash - l->name) + 1 : 0;
        n = *name ? snprintf(path, size, "%.*s%s", before, l->name, name) : -1;
    } else {
        const char *name = text + sizeof credential_mark - 1;
        if (!directory || !*directory) {
            load_problem(l, at, "a credential without $CREDENTIALS_DIRECTORY",
                         "credential: in a systemd service with LoadCredential= alone");
            return false;
        }
        bool plain = *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
        n = plain ? snprintf(path, size, "%s/%s", directory, name) : -1;
    }
    if (n < 0 || (size_t)n >= size) {
        load_problem(l, at, "a name that is none", "file:/path or credential:name");
        return false;
    }
    return true;
}

static void note_file(struct load *l, const struct spot *at, const char *path, const char *what)
{
    char found[FOUND_MAX + 128];
    snprintf(found, sizeof found, "the file '%.120s' (%s)", path, what);
    load_problem(l, at, found, "a readable file of 1 to 65536 bytes of text");
}

/* The text of the file less the line's end that editors leave; NULL when refused (and noted). */
static char *read_secret(struct load *l, const struct spot *at, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        note_file(l, at, path, strerror(errno) /* "No such file or directory" */);
        return NULL;
    }
    char *text = fis_alloc(SECRET_MAX + 2, 1);
    size_t n = text ? fread(text, 1, SECRET_MAX + 1, in) : 0;
    int failed = ferror(in) ? errno : 0;
    (void)fclose(in);
    if (!text) {
        l->no_memory = true;
        return NULL;
    }
    const char *trouble = failed                               ? "cannot be read"
                          : n > SECRET_MAX                     ? "too long"
                          : memchr(text, 0, n)                 ? "a zero byte in it"
                          : config_bad_byte(text, n) != n && n ? "no text"
                                                               : NULL;
    while (!trouble && n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    if (!trouble && !n)
        trouble = "empty";
    text[n] = 0;
    if (!trouble)
        return text;
    note_file(l, at, path, trouble);
    explicit_bzero(text, SECRET_MAX + 2);
    fis_free(text);
    return NULL;
}

char *load_reference(struct load *l, const struct spot *at, const char *text)
{
    char path[4200];
    if (!path_of(l, at, text, path, sizeof path))
        return NULL;
    char *whole = read_secret(l, at, path);
    if (!whole)
        return NULL;
    char *exact = fis_strdup(whole);
    explicit_bzero(whole, SECRET_MAX + 2);
    fis_free(whole);
    l->no_memory |= !exact;
    return exact;
}
