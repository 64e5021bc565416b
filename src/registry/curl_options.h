/*
 * What every HTTP request of fisd has in common: http and https only, no redirects, TLS
 * certificates and names verified, a time limit, and an end when it is no longer needed. Thread: a
 * handle is used by one thread at a time. Owns: nothing.
 */
#ifndef REGISTRY_CURL_OPTIONS_H
#define REGISTRY_CURL_OPTIONS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

struct curl_options {
    const char *url;
    const char *ca_file; /* NULL: the system's */
    long timeout_ms;
    /* Asked once a second at least while a request runs; true breaks it off. */
    bool (*stopped)(void *arg);
    void *arg;
    char *why; /* [CURL_ERROR_SIZE]: of the last request */
};
/* The options must live as long as the handle. */
CURLcode curl_options_set(CURL *curl, const struct curl_options *o);
/* The host of a URL, which alone may be shown: the rest may hold a secret. False: it is no URL. */
bool curl_options_host(const char *url, char *host, size_t size);

#endif
