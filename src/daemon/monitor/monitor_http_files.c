#include "daemon/monitor/monitor_http_files.h"

#include <string.h>

#include "http/http.h"

static const char token_key[] = "http.token_file", cert_key[] = "http.tls_cert",
                  key_key[] = "http.tls_key", annotators_key[] = "labels.annotators";

void http_files_done(struct http_files *f)
{
    config_free_secret(f->token);
    config_free_secret(f->cert);
    config_free_secret(f->key);
    *f = (struct http_files){0};
}

static int read_token(const struct config_http *h, char **token, struct fis_error *e)
{
    int rc = config_file_text(h->token_file, token, e);
    if (rc < 0 || !*token)
        return rc;
    (*token)[strcspn(*token, "\r\n")] = 0;
    rc = http_token_check(*token, e);
    if (rc < 0) {
        config_free_secret(*token);
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
    if (rc == 0 && (rc = config_file_text(h->tls_cert, &f.cert, e)) < 0)
        fis_error_prefix(e, "%s", cert_key);
    if (rc == 0 && (rc = config_file_text(h->tls_key, &f.key, e)) < 0)
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
    int rc = config_file_text(cfg->labels.annotators, &text, e);
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
    if (config_file_text(h->tls_cert, &f.cert, &e) < 0)
        refuse(ctx, cert_key, e.text);
    if (config_file_text(h->tls_key, &f.key, &e) < 0)
        refuse(ctx, key_key, e.text);
    if (f.cert && f.key && http_tls_check(f.cert, f.key, &e) < 0)
        refuse(ctx, cert_key, e.text);
    if (cfg->labels.page && read_annotators(cfg, &people, &e) < 0)
        refuse(ctx, annotators_key, e.text);
    else if (cfg->labels.page)
        annotators_done(&people);
    http_files_done(&f);
}
