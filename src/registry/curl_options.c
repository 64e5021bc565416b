#include "registry/curl_options.h"

#include <stdio.h>

#include "fis/version.h"

static int go_on(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct curl_options *o = arg;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return o->stopped(o->arg);
}

CURLcode curl_options_set(CURL *curl, const struct curl_options *o)
{
    CURLcode rc = curl_easy_setopt(curl, CURLOPT_URL, o->url);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (!rc && o->ca_file)
        rc = curl_easy_setopt(curl, CURLOPT_CAINFO, o->ca_file);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, o->timeout_ms);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_USERAGENT, "fisd/" FIS_VERSION);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, o->why);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, go_on);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_XFERINFODATA, o);
    return rc ? rc : curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

bool curl_options_host(const char *url, char *host, size_t size)
{
    CURLU *parsed = curl_url();
    char *found = NULL;
    bool good = parsed && !curl_url_set(parsed, CURLUPART_URL, url, 0) &&
                !curl_url_get(parsed, CURLUPART_HOST, &found, 0);
    if (good)
        snprintf(host, size, "%s", found);
    curl_free(found);
    curl_url_cleanup(parsed);
    return good;
}
