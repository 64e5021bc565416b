#include "daemon/monitor/webhook_post.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "fis/gate.h"
#include "fis/mem.h"
#include "registry/curl_options.h"
#include "wire/json_text.h"
#include "wire/model_parts.h"

/* ---- body ------------------------------------------------------------------------------------ */

char *webhook_body(const struct wire_model *m)
{
    double accuracy = wire_metric_of(&m->metrics, WIRE_ACCURACY);
    double violation = wire_metric_of(&m->metrics, wire_metric_named(m->metric));
    json_t *o =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:o, s:s, s:o, s:o, s:I}", "event",
                  "version_published", "pipeline", m->pipeline, "version", (json_int_t)m->version,
                  "parent", (json_int_t)m->parent, "created_at_ms", (json_int_t)m->created_at_ms,
                  "reason", m->reason, "text", m->reason_text, "accuracy", wire_json_real(accuracy),
                  "metric", m->metric, "violation", wire_json_real(violation), "floor",
                  wire_json_real(m->floor), "labels_bought", (json_int_t)m->labels_bought);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text;
}

/* ---- the request ----------------------------------------------------------------------------- */

struct webhook_post {
    CURL *curl;
    const struct config *cfg;
    bool (*stopped)(void *arg);
    void *arg;
    struct curl_options options;
    char host[256], why[CURL_ERROR_SIZE];
};

static size_t drop(char *bytes, size_t size, size_t n, void *arg)
{
    (void)bytes;
    (void)arg;
    return size * n;
}

static bool set_options(struct webhook_post *p)
{
    const struct config_webhook *h = &p->cfg->webhook;
    p->options = (struct curl_options){.url = h->url,
                                       .ca_file = h->ca_file,
                                       .timeout_ms = (long)h->timeout,
                                       .stopped = p->stopped,
                                       .arg = p->arg,
                                       .why = p->why};
    return curl_options_set(p->curl, &p->options) == CURLE_OK &&
           curl_easy_setopt(p->curl, CURLOPT_WRITEFUNCTION, drop) == CURLE_OK;
}

int webhook_post_open(struct webhook_post **out, const struct config *cfg,
                      bool (*stopped)(void *arg), void *arg, struct fis_error *e)
{
    struct webhook_post *p = fis_calloc(1, sizeof *p);
    if (!p)
        return fis_fail(e, FIS_NOMEM, "no memory for the webhook");
    *p = (struct webhook_post){.cfg = cfg, .stopped = stopped, .arg = arg};
    int rc = 0;
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        rc = fis_fail(e, FIS_INPUT, "libcurl cannot be used");
    else if (!curl_options_host(cfg->webhook.url, p->host, sizeof p->host))
        rc = fis_fail(e, FIS_INPUT, "webhook.url: found no URL, allowed https://host/path");
    if (!rc && (!(p->curl = curl_easy_init()) || !set_options(p)))
        rc = fis_fail(e, FIS_INPUT, "libcurl refuses the options of the webhook");
    if (rc)
        webhook_post_close(p);
    else
        *out = p;
    return rc;
}

void webhook_post_close(struct webhook_post *p)
{
    if (p)
        curl_easy_cleanup(p->curl);
    fis_free(p);
}

const char *webhook_post_host(const struct webhook_post *p)
{
    return p->host;
}

static void sign(const char *secret, const char *body, char header[128])
{
    static const char name[] = "X-Fisd-Signature: sha256=";
    unsigned char code[SHA256_BYTES];
    hmac_sha256(secret, strlen(secret), body, strlen(body), code);
    memcpy(header, name, sizeof name);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(header + sizeof name - 1 + 2 * i, 3, "%02x", code[i]);
}

/* NULL: no memory. */
static struct curl_slist *headers_of(const struct webhook_post *p, uint64_t version,
                                     const char *body)
{
    char delivery[160], signature[128];
    snprintf(delivery, sizeof delivery, "X-Fisd-Delivery: %s/%llu", p->cfg->pipeline,
             (unsigned long long)version);
    const char *all[] = {"Content-Type: application/json", "Expect:", delivery, NULL};
    if (p->cfg->webhook.secret) {
        sign(p->cfg->webhook.secret, body, signature);
        all[3] = signature;
    }
    struct curl_slist *list = NULL;
    for (int i = 0; i < 4 && all[i]; i++) {
        struct curl_slist *more = curl_slist_append(list, all[i]);
        if (!more) {
            curl_slist_free_all(list);
            return NULL;
        }
        list = more;
    }
    return list;
}

int webhook_post_send(struct webhook_post *p, uint64_t version, const char *body,
                      struct fis_error *e)
{
    struct curl_slist *headers = headers_of(p, version, body);
    long status = 0;
    if (!headers)
        return fis_fail(e, FIS_RETRY, "no memory for a request");
    p->why[0] = 0;
    CURLcode rc = curl_easy_setopt(p->curl, CURLOPT_HTTPHEADER, headers);
    rc = rc ? rc : curl_easy_setopt(p->curl, CURLOPT_POSTFIELDS, body);
    rc = rc ? rc : curl_easy_perform(p->curl);
    if (!rc)
        rc = curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_setopt(p->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    if (rc)
        return fis_fail(e, FIS_RETRY, "%s", p->why[0] ? p->why : curl_easy_strerror(rc));
    if (status / 100 == 3)
        return fis_fail(e, FIS_RETRY,
                        "status %ld: redirects are not followed; set webhook.url to "
                        "where it leads",
                        status);
    return status / 100 == 2 ? 0 : fis_fail(e, FIS_RETRY, "status %ld, 2xx expected", status);
}
