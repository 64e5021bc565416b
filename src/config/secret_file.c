/*
 * Secrets that stand elsewhere: "file:/path", and "credential:name" for one that systemd hands over
 * (LoadCredential=, in the directory that $CREDENTIALS_DIRECTORY names); and paths, which may be
 * written likewise.
 */
#include "config/load.h"
#include "fis/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MAX 65536u /* a key in PEM, with its chain */

static const char file_mark[] = "file:", credential_mark[] = "credential:";

static size_t file_marked(const char *text)
{
    return strncmp(text, file_mark, sizeof file_mark - 1) ? 0 : sizeof file_mark - 1;
}

bool config_property_is_path(const char *property, const char *value)
{
    static const char *const ends[] = {".location", ".keytab", ".file",      "_file",
                                       "tls_cert",  "tls_key", ".annotators"};
    size_t length = strlen(property);
    bool named = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        named |= length >= strlen(ends[i]) && !strcmp(property + length - strlen(ends[i]), ends[i]);
    /* Words in the place of a path; a library is looked for by name; Kerberos has "FILE:". */
    return named && *value && strcmp(value, "probe") != 0 && strncmp(value, "FILE:", 5) != 0 &&
           (strcmp(property, "ssl.engine.location") != 0 || strchr(value, '/'));
}

bool load_is_reference(const char *text)
{
    return file_marked(text) || !strncmp(text, credential_mark, sizeof credential_mark - 1);
}

/* The path that is meant; `name` is the file that has the reference. What is wrong is "found …,
 * allowed …". */
static int path_of(const char *name, const char *text, char *path, size_t size, struct fis_error *e)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    int n;
    if (strncmp(text, credential_mark, sizeof credential_mark - 1) != 0) {
        const char *file = text + file_marked(text), *slash = strrchr(name, '/');
        int before = *file != '/' && slash ? (int)(slash - name) + 1 : 0;
        n = *file ? snprintf(path, size, "%.*s%s", before, name, file) : -1;
    } else {
        const char *credential = text + sizeof credential_mark - 1;
        if (!directory || !*directory)
            return fis_fail(e, FIS_INPUT,
                            "found a credential without $CREDENTIALS_DIRECTORY, allowed "
                            "credential: in a systemd service with LoadCredential= alone");
        bool plain = *credential && !strchr(credential, '/') && strcmp(credential, ".") &&
                     strcmp(credential, "..");
        n = plain ? snprintf(path, size, "%s/%s", directory, credential) : -1;
    }
    return n >= 0 && (size_t)n < size
               ? 0
               : fis_fail(e, FIS_INPUT,
                          "found a name that is none, allowed file:/path or credential:name");
}

static int refuse_file(const char *path, const char *what, struct fis_error *e)
{
    return fis_fail(
        e, FIS_INPUT,
        "found the file '%.120s' (%s), allowed a readable file of 1 to 65536 bytes of text", path,
        what);
}

/* The text of the file less the line's end that editors leave; `any`: not UTF-8 too. */
static int read_secret(const char *path, bool any, char *text, struct fis_error *e)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return refuse_file(path, strerror(errno) /* "No such file or directory" */, e);
    size_t n = fread(text, 1, SECRET_MAX + 1, in);
    int failed = ferror(in) ? errno : 0;
    (void)fclose(in);
    const char *trouble = failed                                  ? "cannot be read"
                          : n > SECRET_MAX                        ? "too long"
                          : memchr(text, 0, n)                    ? "a zero byte in it"
                          : !any && config_bad_byte(text, n) != n ? "no text"
                                                                  : NULL;
    while (!trouble && n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    if (!trouble && !n)
        trouble = "empty";
    text[n] = 0;
    return trouble ? refuse_file(path, trouble, e) : 0;
}

/* A text of its own for the caller; `any` as above. */
static int take_file(const char *path, bool any, char **out, struct fis_error *e)
{
    char *whole = fis_alloc(SECRET_MAX + 2, 1), *exact = NULL;
    int rc = whole ? read_secret(path, any, whole, e) : 0;
    if (rc == 0 && (!whole || !(exact = fis_strdup(whole))))
        rc = fis_fail(e, FIS_NOMEM, "no memory for a secret");
    if (whole)
        explicit_bzero(whole, SECRET_MAX + 2);
    fis_free(whole);
    if (!rc)
        *out = exact;
    return rc;
}

int secret_read(const char *name, const char *key, const char *text, char **out,
                struct fis_error *e)
{
    char path[4200];
    int rc = path_of(name, text, path, sizeof path, e);
    if (rc || !config_property_is_path(key, text))
        return rc ? rc : take_file(path, false, out, e);
    *out = fis_strdup(path);
    return *out ? 0 : fis_fail(e, FIS_NOMEM, "no memory for a path");
}

int config_file_text(const char *file, char **out, struct fis_error *e)
{
    char path[4200];
    *out = NULL;
    int rc = file ? path_of("", file, path, sizeof path, e) : 0;
    return rc || !file ? rc : take_file(path, true, out, e);
}

char *load_reference(struct load *l, const struct spot *at, const char *text)
{
    char *secret = NULL;
    struct fis_error e;
    int rc = secret_read(l->name, at->path, text, &secret, &e);
    if (rc == -(int)FIS_NOMEM)
        l->no_memory = true;
    else if (rc)
        load_say(l, at, e.text);
    return secret;
}

char *load_path(struct load *l, const char *key, char *text)
{
    char *file = text + file_marked(text), *slash = strrchr(l->name, '/');
    if (!*file || !config_property_is_path(key, text) || load_is_reference(file))
        return text;
    const size_t before = *file != '/' && slash ? (size_t)(slash - l->name) + 1 : 0;
    const size_t length = strlen(file) + 1;
    char *whole = fis_alloc(before + length, 1);
    l->no_memory |= !whole;
    if (whole) {
        memcpy(whole, l->name, before);
        memcpy(whole + before, file, length);
    }
    fis_free(text);
    return whole;
}
