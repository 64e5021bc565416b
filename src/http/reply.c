/* Writing an answer: a buffer that grows, JSON texts, problem documents. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "fis/mem.h"
#include "http/http_impl.h"

void http_reply_done(struct http_reply *r)
{
    fis_free(r->data);
    r->data = NULL;
    r->length = r->room = 0;
}

static unsigned char *reserve(struct http_reply *r, size_t more)
{
    if (r->no_memory)
        return NULL;
    if (r->room - r->length < more) {
        size_t room = r->room ? r->room : 4096;
        while (room - r->length < more)
            room *= 2;
        if (!fis_grow(&r->data, r->length, room, 1)) {
            r->no_memory = true;
            return NULL;
        }
        r->room = room;
    }
    return r->data + r->length;
}

void http_write(struct http_reply *out, const void *bytes, size_t length)
{
    unsigned char *to = reserve(out, length);
    if (!to)
        return;
    memcpy(to, bytes, length);
    out->length += length;
}

void http_text(struct http_reply *out, const char *text)
{
    http_write(out, text, strlen(text));
}

void http_printf(struct http_reply *out, const char *format, ...)
{
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    unsigned char *to = n < 0 ? NULL : reserve(out, (size_t)n + 1);
    if (to) {
        vsnprintf((char *)to, (size_t)n + 1, format, again);
        out->length += (size_t)n;
    }
    va_end(again);
}

static void json_char(struct http_reply *out, unsigned char c)
{
    if (c == '"' || c == '\\')
        http_printf(out, "\\%c", c);
    else if (c < 0x20)
        http_printf(out, "\\u%04x", c);
    else
        http_write(out, &c, 1);
}

void http_json_text(struct http_reply *out, const char *text, size_t length)
{
    http_write(out, "\"", 1);
    while (length) {
        size_t good = utf8_prefix(text, length);
        for (size_t i = 0; i < good; i++)
            json_char(out, (unsigned char)text[i]);
        if (good < length)
            http_write(out, "?", 1);
        good += good < length;
        text += good;
        length -= good;
    }
    http_write(out, "\"", 1);
}

void http_problem(struct http_reply *out, unsigned status, const char *format, ...)
{
    char detail[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(detail, sizeof detail, format, ap);
    va_end(ap);
    const char *title = MHD_get_reason_phrase_for(status);
    out->status = status;
    out->type = "application/problem+json";
    out->fixed = NULL;
    out->length = 0;
    http_printf(out, "{\"title\":\"%s\",\"status\":%u,\"detail\":", title, status);
    http_json_text(out, detail, strlen(detail));
    http_text(out, "}\n");
}
