/* Writing an answer: JSON texts, problem documents. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "http/http_impl.h"

void http_write(struct http_reply *out, const void *bytes, size_t length)
{
    out->no_memory |= byte_buffer_append(&out->body, bytes, length, NULL) < 0;
}

void http_text(struct http_reply *out, const char *text)
{
    http_write(out, text, strlen(text));
}

void http_printf(struct http_reply *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    out->no_memory |= byte_buffer_vprintf(&out->body, NULL, format, ap) < 0;
    va_end(ap);
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
    out->body.length = 0;
    http_printf(out, "{\"title\":\"%s\",\"status\":%u,\"detail\":", title, status);
    http_json_text(out, detail, strlen(detail));
    http_text(out, "}\n");
}
