/*
 * What the labelling page asks of the configuration: who may reach it, and what it shows.
 */
#include "config/load.h"

#include <string.h>

static bool is_loopback(const char *listen)
{
    return !strcmp(listen, "auto") || !strncmp(listen, "localhost:", 10) ||
           !strncmp(listen, "127.", 4) || !strncmp(listen, "[::1]:", 6);
}

static void check_page(struct load *l)
{
    const struct config *c = l->cfg;
    struct spot at = load_spot(l, "labels.page", -1);
    if (!strcmp(c->http.listen, "off"))
        load_problem(l, &at, "true, and http.listen: off", "a place to listen at");
    else if (!is_loopback(c->http.listen) && (!c->http.tls_cert || !c->labels.annotators))
        load_problem(l, &at, "true, and an http.listen beyond this machine",
                     "that with http.tls_cert and labels.annotators");
    else if (c->http.protect == CONFIG_PROTECT_ALL && !c->labels.annotators)
        load_problem(l, &at, "true, and http.protect: all", "that with labels.annotators");
    if (c->labels.framing == CONFIG_FRAMING_CONFLUENT)
        load_problem(l, &at, "true, and labels.framing: confluent",
                     "labels.framing: auto or none: the page writes labels without a frame");
}

/* Whether records can have it. Protobuf records bring attributes of any name, as do JSON records
 * whose unknown members are passed. */
static bool is_column(const struct config *c, const char *name, size_t length)
{
    const struct config_names *p = &c->records.passthrough;
    bool found = c->records.encoding == CONFIG_PROTOBUF || c->records.unknown == CONFIG_PASS ||
                 (!strncmp(c->records.id, name, length) && !c->records.id[length]);
    for (uint32_t i = 0; i < c->columns.count && !found; i++)
        found =
            !strncmp(c->columns.items[i].name, name, length) && !c->columns.items[i].name[length];
    for (uint32_t i = 0; i < p->count && !found; i++)
        found = !strncmp(p->items[i], name, length) && !p->items[i][length];
    return found;
}

/* Nothing of a record may choose the host: it is whole before the first place. */
static bool is_address(const char *template)
{
    size_t scheme = !strncmp(template, "https://", 8)  ? 8
                    : !strncmp(template, "http://", 7) ? 7
                                                       : 0;
    const char *host = template + scheme, *place = strchr(template, '{');
    size_t length = strcspn(host, "/?#");
    return scheme && length && !memchr(host, '@', length) && !memchr(host, '{', length) &&
           (!place || host[length]);
}

static bool places_ok(const struct config *c, const char *t)
{
    for (; *t; t++) {
        size_t n = *t == '{' ? strcspn(t + 1, "{}") : 0;
        if (*t == '}' || (*t == '{' && (!n || t[n + 1] != '}' || !is_column(c, t + 1, n))))
            return false;
        if (*t == '{')
            t += n + 1;
    }
    return true;
}

static void check_show(struct load *l, uint32_t i)
{
    const struct config_show *s = &l->cfg->labels.show.items[i];
    struct spot at = load_spot(l, "labels.show", (int)i);
    if (s->column && !is_column(l->cfg, s->column, strlen(s->column)))
        load_problem(l, &at, "a column that no record has",
                     "one of columns, records.passthrough and records.id");
    if (s->template && s->as != CONFIG_SHOW_TEXT && !is_address(s->template))
        load_problem(l, &at, "a template that is no address",
                     "http:// or https:// and a host without {column}");
    else if (s->template && !places_ok(l->cfg, s->template))
        load_problem(l, &at, "a template with other braces than {column}",
                     "{column}, of columns, records.passthrough and records.id");
}

void load_check_labels(struct load *l)
{
    if (l->cfg->labels.page)
        check_page(l);
    for (uint32_t i = 0; i < l->cfg->labels.show.count; i++)
        check_show(l, i);
}
