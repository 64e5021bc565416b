/* What must agree about the schema registry; and what several sections check alike. */
#include <string.h>

#include "config/load.h"

bool load_is_http(const char *url)
{
    return !strncmp(url, "http://", 7) || !strncmp(url, "https://", 8);
}

void load_check_pair(struct load *l, const char *one, bool has_one, const char *other,
                     bool has_other)
{
    char found[96];
    if (has_one == has_other)
        return;
    struct spot at = load_spot(l, has_one ? one : other, -1);
    snprintf(found, sizeof found, "no %s", has_one ? other : one);
    load_problem(l, &at, found, "both of them, or neither");
}

void load_check_registry(struct load *l)
{
    const struct config_records *c = &l->cfg->records;
    const struct config_registry *r = &c->registry;
    bool used = c->encoding == CONFIG_REGISTRY;
    struct spot at = load_spot(l, r->url ? "records.registry.url" : "records.encoding", -1);
    if (used && !r->url)
        load_problem(l, &at, "registry, and no records.registry.url", "both of them, or neither");
    else if (!used && r->url)
        load_problem(l, &at, "a URL without records.encoding: registry",
                     "both of them, or neither");
    else if (r->url && (!load_is_http(r->url) || strchr(r->url, '@')))
        load_problem(l, &at, load_is_http(r->url) ? "a user within the URL" : "another scheme",
                     "http://HOST[:PORT] or https://HOST[:PORT], with records.registry.user and "
                     "password apart");
    if (used && c->framing == CONFIG_FRAMING_NONE) {
        at = load_spot(l, "records.framing", -1);
        load_problem(l, &at, "none", "auto or confluent with records.encoding: registry");
    }
    load_check_pair(l, "records.registry.user", r->user, "records.registry.password", r->password);
    load_check_pair(l, "records.registry.tls_cert", r->tls_cert, "records.registry.tls_key",
                    r->tls_key);
}
