#include "daemon/monitor/monitor_http_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "http/http.h"

#define MAX_FILE 65536

static const char token_key[] = "http.token_file", cert_key[] = "http.tls_cert",
                  key_key[] = "http.tls_key", annotators_key[] = "labels.annotators";

/* A path, or credential:name (in the directory that systemd names). */
static int path_of(const char *file, char *out, size_t size, struct fis_error *e)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    int n;
    if (strncmp(file, "credential:", 11) != 0)
        n = snprintf(out, size, "%s", file);
    else if (!directory || !*directory)
        return fis_fail(e, FIS_INPUT,
                        "found '%.80s' without $CREDENTIALS_DIRECTORY, allowed credential: in a "
                        "systemd service with LoadCredential= alone",
                        file);
    else
        n = snprintf(out, size, "%s/%s", directory, file + 11);
    return n > 0 && (size_t)n < size
               ? 0
               : fis_fail(e, FIS_INPUT, "found a name that is too long, allowed a file");
}

static int refuse_file(const char *path, const char *what, struct fis_error *e)
{
    return fis_fail(
        e, FIS_INPUT,
        "found the file '%.120s' (%s), allowed a readable file of 1 to %d bytes of text", path,
        what, MAX_FILE);
}

/* The text of a file (the caller's to free), NULL when `file` is. */
static int read_text(const char *file, char **out, struct fis_error *e)
{
    char path[5000];
    *out = NULL;
    if (!file)
        return 0;
    int rc = path_of(file, path, sizeof path, e);
    if (rc < 0)
        return rc;
    FILE *in = fopen(path, "rb");
    if (!in)
        return refuse_file(path, strerror(errno), e);
    char *text = fis_calloc(MAX_FILE + 1, 1);
    size_t n = text ? fread(text, 1, MAX_FILE + 1, in) : 0;
    const char *trouble = ferror(in)                   ? "cannot be read"
                          : n > MAX_FILE               ? "too long"
                          : text && !n                 ? "empty"
                          : text && memchr(text, 0, n) ? "a zero byte in it"
                                                       : NULL;
    fclose(in);
    if (!text)
        return fis_fail(e, FIS_NOMEM, "no memory for a file");
    if (trouble) {
        explicit_bzero(text, MAX_FILE + 1);
        fis_free(text);
        return refuse_file(path, trouble, e);
    }
    *out = text;
    return 0;
}

void http_files_forget(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    fis_free(text);
}

void http_files_done(struct http_files *f)
{
    http_files_forget(f->token);
    http_files_forget(f->cert);
    http_files_forget(f->key);
    *f = (struct http_files){0};
}

static int read_token(const struct config_http *h, char **token, struct fis_error *e)
{
    int rc = read_text(h->token_file, token, e);
    if (rc < 0 || !*token)
        return rc;
    (*token)[strcspn(*token, "\r\n")] = 0;
    rc = http_token_check(*token, e);
    if (rc < 0) {
        http_files_forget(*token);
        *token = NULL;
    }
    return rc;
}

int http_files_token(const struct config_http *h, char **token, struct fis_error *e)
{
    int rc = read_token(h, token, e);
    return rc < 0 ? fis_error_prefix(e, "%s", token_key) : 0;
}

int http_files_read(const struct config_http *h, struct http_files *out, struct fis_error *e)
{
    struct http_files f = {0};
    int rc = http_files_token(h, &f.token, e);
    if (rc == 0 && (rc = read_text(h->tls_cert, &f.cert, e)) < 0)
        fis_error_prefix(e, "%s", cert_key);
    if (rc == 0 && (rc = read_text(h->tls_key, &f.key, e)) < 0)
        fis_error_prefix(e, "%s", key_key);
    if (rc < 0)
        http_files_done(&f);
    else
        *out = f;
    return rc;
}

static int read_annotators(const struct config *cfg, struct annotators *out, struct fis_error *e)
{
    char *text;
    *out = (struct annotators){0};
    int rc = read_text(cfg->labels.annotators, &text, e);
    return rc < 0 || !text ? rc : annotators_parse(out, text, e);
}

int http_files_annotators(const struct config *cfg, struct annotators *out, struct fis_error *e)
{
    int rc = read_annotators(cfg, out, e);
    return rc < 0 ? fis_error_prefix(e, "%s", annotators_key) : 0;
}

void http_files_look(const struct config *cfg, config_refuse_fn *refuse, void *ctx)
{
    const struct config_http *h = &cfg->http;
    struct http_files f = {0};
    struct annotators people;
    struct fis_error e;
    if (strcmp(h->listen, "off") == 0)
        return;
    if (read_token(h, &f.token, &e) < 0)
        refuse(ctx, token_key, e.text);
    if (read_text(h->tls_cert, &f.cert, &e) < 0)
        refuse(ctx, cert_key, e.text);
    if (read_text(h->tls_key, &f.key, &e) < 0)
        refuse(ctx, key_key, e.text);
    if (f.cert && f.key && http_tls_check(f.cert, f.key, &e) < 0)
        refuse(ctx, cert_key, e.text);
    if (cfg->labels.page && read_annotators(cfg, &people, &e) < 0)
        refuse(ctx, annotators_key, e.text);
    else if (cfg->labels.page)
        annotators_done(&people);
    http_files_done(&f);
}
