/* bootstrap.servers. What librdkafka cannot read of it it leaves out with all that is behind it,
 * and waits for the rest, or for ever. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "stream/conf.h"

#define HOST_MAX 253 /* of a name, by the DNS */

/* The host of an entry: [from, from + n); what is wrong with it, or NULL. */
static const char *bad_host(const char *from, size_t n, bool brackets)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char host[HOST_MAX + 1];
    struct in6_addr address;
    if (n == 0)
        return "no host";
    if (n > HOST_MAX)
        return "a host of more than 253 characters";
    memcpy(host, from, n);
    host[n] = 0;
    if (brackets || strchr(host, ':')) {
        host[strcspn(host, "%")] = 0; /* the network interface */
        return inet_pton(AF_INET6, host, &address) == 1 ? NULL : "neither a host nor IPv6";
    }
    for (size_t i = 0; i < n; i++)
        if (!strchr(letters, host[i]) && !strchr(".-_", host[i]))
            return "a character that no host has";
    return NULL;
}

static const char *bad_port(const char *text)
{
    size_t n = strspn(text, "0123456789");
    if (!*text)
        return "no port behind the colon";
    if (text[n])
        return "a port that is no number";
    return n > 5 || atoi(text) < 1 || atoi(text) > 65535 ? "a port that is none" : NULL;
}

/* HOST, HOST:PORT, [IPV6]:PORT, [IPV6] or IPV6. */
static const char *bad_address(const char *at)
{
    const char *end = *at == '[' ? strchr(at, ']') : NULL, *colon = strchr(at, ':');
    if (*at == '[') {
        if (!end)
            return "no ']'";
        const char *reason = bad_host(at + 1, (size_t)(end - at) - 1, true);
        return reason || !end[1] ? reason : end[1] == ':' ? bad_port(end + 2) : "more behind ']'";
    }
    if (!colon || strchr(colon + 1, ':'))
        return bad_host(at, strlen(at), false);
    const char *reason = bad_host(at, (size_t)(colon - at), false);
    return reason ? reason : bad_port(colon + 1);
}

static const char *bad_entry(const char *entry, const char *protocol)
{
    static const char *const schemes[] = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"};
    const char *end = strstr(entry, "://");
    bool known = !end;
    if (!*entry)
        return "an empty entry";
    if (strchr(entry, ' '))
        return "a space";
    if (!end)
        return bad_address(entry);
    size_t n = (size_t)(end - entry);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        known |= strlen(schemes[i]) == n && !strncasecmp(entry, schemes[i], n);
    if (!known)
        return "a scheme that Kafka does not have";
    if (protocol && (strlen(protocol) != n || strncasecmp(entry, protocol, n) != 0))
        return "a scheme that is not security.protocol (default: plaintext)";
    return bad_address(end + 3);
}

int stream_brokers_check(const char *list, const char *protocol, struct fis_error *e)
{
    char entry[600];
    for (const char *at = list;; at++) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ",");
        snprintf(entry, sizeof entry, "%.*s", (int)(n < sizeof entry ? n : sizeof entry), at);
        const char *reason = bad_entry(entry, protocol), *shown = strrchr(entry, '@');
        if (reason)
            return fis_fail(e, FIS_INPUT,
                            "kafka property \"bootstrap.servers\": found '%.80s' (%s), allowed "
                            "HOST or HOST:PORT with a port from 1 to 65535, IPv6 as [::1]:PORT, "
                            "PLAINTEXT://, SSL://, SASL_PLAINTEXT:// or SASL_SSL:// before it, "
                            "and commas between several",
                            shown    ? shown
                            : *entry ? entry
                                     : list,
                            reason);
        at += n;
        if (!*at)
            return 0;
    }
}
