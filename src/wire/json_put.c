#include "wire/json_put.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "wire/json_text.h"

struct wire_json_put wire_put(struct byte_buffer *out, struct fis_error *e)
{
    return (struct wire_json_put){.out = out, .e = e, .start = out->length};
}

static void append(struct wire_json_put *p, const void *data, size_t length)
{
    if (!p->rc)
        p->rc = byte_buffer_append(p->out, data, length, p->e);
}

static void escape(struct wire_json_put *p, const char *text, size_t length)
{
    if (!p->rc)
        p->rc = wire_json_escape(p->out, text, length, p->e);
}

static void begin(struct wire_json_put *p, const char *name)
{
    const struct byte_buffer *b = p->out;
    if (!p->rc && b->length > p->start && !strchr("{[:", b->data[b->length - 1]))
        append(p, ",", 1);
    if (!name)
        return;
    escape(p, name, strlen(name));
    append(p, ":", 1);
}

void wire_put_json(struct wire_json_put *p, const char *name, const void *json, size_t length)
{
    begin(p, name);
    append(p, json, length);
}

void wire_put_open(struct wire_json_put *p, const char *name, char bracket)
{
    wire_put_json(p, name, &bracket, 1);
}

void wire_put_close(struct wire_json_put *p, char bracket)
{
    append(p, &bracket, 1);
}

void wire_put_bytes(struct wire_json_put *p, const char *name, const char *text, size_t length)
{
    begin(p, name);
    escape(p, text, length);
}

void wire_put_text(struct wire_json_put *p, const char *name, const char *text)
{
    if (text)
        wire_put_bytes(p, name, text, strlen(text));
    else
        wire_put_json(p, name, "null", 4);
}

void wire_put_whole(struct wire_json_put *p, const char *name, int64_t n)
{
    char text[32];
    wire_put_json(p, name, text, (size_t)snprintf(text, sizeof text, "%" PRId64, n));
}

void wire_put_count(struct wire_json_put *p, const char *name, uint64_t n)
{
    char text[32];
    wire_put_json(p, name, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, n));
}

void wire_put_bool(struct wire_json_put *p, const char *name, bool yes)
{
    wire_put_json(p, name, yes ? "true" : "false", yes ? 4 : 5);
}

void wire_put_number(struct wire_json_put *p, const char *name, double x, int digits)
{
    char text[40];
    if (!isfinite(x)) {
        wire_put_text(p, name, NULL);
    } else if (digits) {
        wire_put_json(p, name, text, (size_t)snprintf(text, sizeof text, "%.*g", digits, x));
    } else {
        begin(p, name);
        if (!p->rc)
            p->rc = wire_json_number(p->out, x, p->e);
    }
}

void wire_put_numbers(struct wire_json_put *p, const struct wire_number *table, const void *from,
                      int digits)
{
    for (const struct wire_number *t = table; t->name; t++)
        wire_put_number(p, t->name, wire_number_at(from, t->at), digits);
}

int wire_put_done(const struct wire_json_put *p)
{
    if (p->rc)
        p->out->length = p->start;
    return p->rc;
}
