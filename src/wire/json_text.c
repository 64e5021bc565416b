#include "wire/json_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "wire/json_arena.h"
#include "base/decimal.h"
#include "base/utf8.h"

struct wire_bytes wire_json_skip_mark(struct wire_bytes text)
{
    if (text.length >= 3 && !memcmp(text.data, "\xef\xbb\xbf", 3)) {
        text.data = (const char *)text.data + 3;
        text.length -= 3;
    }
    return text;
}

static const char *what_is_wrong(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_premature_end_of_input:
        return "the text ends in the middle";
    case json_error_end_of_input_expected:
        return "something follows the end of the object";
    case json_error_invalid_utf8:
        return "not UTF-8";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a NUL character";
    case json_error_duplicate_key:
        return "a key for the second time";
    case json_error_numeric_overflow:
        return "a number beyond what a double holds";
    case json_error_stack_overflow:
        return "nested too deeply";
    default:
        break;
    }
    /* What jansson says besides is for its own developers, but for these two. */
    if (strstr(error->text, "'[' or '{' expected"))
        return "an object expected";
    if (strstr(error->text, "near 'NaN'") || strstr(error->text, "near 'Infinity'") ||
        strstr(error->text, "near '-'")) /* and no number after it */
        return "not JSON (which has no NaN and no Infinity)";
    return "not JSON";
}

static int refused_memory(struct fis_error *e)
{
    size_t size = wire_json_arena_size();
    if (size)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "JSON: needs more than %zu bytes to decode", size);
    return fis_fail(e, FIS_NOMEM, "no memory for a JSON text");
}

json_t *wire_json_parse(struct wire_bytes text, struct fis_error *e)
{
    text = wire_json_skip_mark(text);
    if (text.length == 0) {
        fis_refuse(e, FIS_CODE_MALFORMED, "JSON: empty, an object expected");
        return NULL;
    }
    json_error_t error;
    wire_json_watch();
    json_t *root = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, &error);
    /* An integer beyond 64 bits is a number too; its digits are in the text (wire_json_digits). */
    if (!root && json_error_code(&error) == json_error_numeric_overflow)
        root = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL,
                          &error);
    if (wire_json_refused()) {
        refused_memory(e);
    } else if (!root) {
        /* Jansson's own text quotes what it read. */
        if (error.line > 1)
            fis_refuse(e, FIS_CODE_MALFORMED, "JSON: %s, at line %d, column %d (byte %d)",
                       what_is_wrong(&error), error.line, error.column, error.position);
        else
            fis_refuse(e, FIS_CODE_MALFORMED, "JSON: %s, at column %d (byte %d)",
                       what_is_wrong(&error), error.column, error.position);
    } else if (!json_is_object(root)) {
        fis_refuse(e, FIS_CODE_MALFORMED, "JSON: an object expected, an array found");
    } else {
        return root;
    }
    json_decref(root);
    return NULL;
}

void wire_json_show(const json_t *v, char shown[WIRE_JSON_SHOWN])
{
    if (json_is_string(v)) {
        size_t length = json_string_length(v), n = length < 40 ? length : 40;
        n = utf8_prefix(json_string_value(v), n);
        snprintf(shown, WIRE_JSON_SHOWN, "\"%.*s%s\"", (int)n, json_string_value(v),
                 n < length ? "…" : "");
        return;
    }
    size_t n = json_dumpb(v, shown, WIRE_JSON_SHOWN - 1, JSON_ENCODE_ANY | JSON_COMPACT);
    if (n > 0 && n < WIRE_JSON_SHOWN)
        shown[n] = 0;
    else
        snprintf(shown, WIRE_JSON_SHOWN, "%s", json_is_array(v) ? "an array" : "an object");
}

int wire_json_value(const json_t *v, const char *column, bool numeric, struct fis_value *out,
                    struct fis_error *e)
{
    switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_NULL:
        *out = (struct fis_value){.kind = FIS_VALUE_MISSING};
        return 0;
    case JSON_INTEGER:
    case JSON_REAL:
        *out = (struct fis_value){.kind = FIS_VALUE_NUMBER,
                                  .number = json_number_value(v) + 0.0}; /* no -0 */
        return 0;
    case JSON_STRING:
        *out = (struct fis_value){
            .kind = FIS_VALUE_TEXT, .text = json_string_value(v), .length = json_string_length(v)};
        return 0;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = numeric ? (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = json_is_true(v)}
                       : (struct fis_value){.kind = FIS_VALUE_TEXT,
                                            .text = json_is_true(v) ? "true" : "false",
                                            .length = json_is_true(v) ? 4 : 5};
        return 0;
    default:
        return fis_refuse(e, FIS_CODE_WRONG_TYPE, "column %s: number or text expected, %s found",
                          column, json_is_array(v) ? "an array" : "an object");
    }
}

void wire_number_of_text(struct fis_value *v)
{
    double number;
    const char *text = v->text;
    size_t length = v->length;
    if (v->kind != FIS_VALUE_TEXT)
        return;
    while (length && strchr(" \t\r\n", *text) && *text) {
        text++;
        length--;
    }
    while (length && strchr(" \t\r\n", text[length - 1]) && text[length - 1])
        length--;
    if (length == 0)
        *v = (struct fis_value){.kind = FIS_VALUE_MISSING};
    else if (!decimal_read(text, length, &number))
        *v = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = number + 0.0}; /* no -0 */
}

int wire_json_append(struct byte_buffer *out, const char *text, struct fis_error *e)
{
    return byte_buffer_append(out, text, strlen(text), e);
}

int wire_json_escape(struct byte_buffer *out, const char *text, size_t length, struct fis_error *e)
{
    size_t valid = utf8_prefix(text, length);
    if (valid < length)
        return fis_fail(e, FIS_INPUT, "not UTF-8 at byte %zu", valid);
    /* At most six bytes for one, and the quotes. */
    if (length > SIZE_MAX / 8)
        return fis_fail(e, FIS_INPUT, "a text of %zu bytes", length);
    int rc = byte_buffer_reserve(out, 6 * length + 2, e);
    if (rc)
        return rc;
    unsigned char *p = out->data + out->length;
    *p++ = '"';
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            *p++ = '\\';
            *p++ = c;
        } else if (c < 0x20 || c == 0x7f) {
            p += snprintf((char *)p, 7, "\\u%04x", c);
        } else {
            *p++ = c;
        }
    }
    *p++ = '"';
    out->length = (size_t)(p - out->data);
    return 0;
}

int wire_json_number(struct byte_buffer *out, double number, struct fis_error *e)
{
    char text[DECIMAL_TEXT];
    if (!isfinite(number))
        return fis_fail(e, FIS_INPUT, "%g: JSON has finite numbers only", number);
    decimal_shortest(number, text);
    return wire_json_append(out, text, e);
}

/* ---- digits -----------------------------------------------------------------------------------
 */

static size_t skip_white(const char *p, size_t at, size_t n)
{
    while (at < n && strchr(" \t\r\n", p[at]) && p[at])
        at++;
    return at;
}

/* Behind the string whose first quote is at `at`. */
static size_t skip_string(const char *p, size_t at, size_t n)
{
    for (at++; at < n && p[at] != '"'; at++)
        at += p[at] == '\\';
    return at < n ? at + 1 : n;
}

/* Behind a value of any kind. */
static size_t skip_value(const char *p, size_t at, size_t n)
{
    size_t depth = 0;
    while (at < n) {
        char c = p[at];
        if (c == '"') {
            at = skip_string(p, at, n);
            continue;
        }
        if (!depth && strchr(",}] \t\r\n", c))
            break;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at++;
    }
    return at;
}

static bool is_key(const char *quoted, size_t n, const char *key, size_t length)
{
    if (!memchr(quoted, '\\', n))
        return n == length + 2 && !memcmp(quoted + 1, key, length);
    json_t *s = json_loadb(quoted, n, JSON_DECODE_ANY, NULL);
    bool same = s && json_string_length(s) == length && !memcmp(json_string_value(s), key, length);
    json_decref(s);
    return same;
}

bool wire_json_each(struct wire_bytes text, size_t *at, struct wire_json_part *part)
{
    const char *p = text.data;
    size_t n = text.length, begin = skip_white(p, *at ? *at : skip_white(p, 0, n) + 1, n);
    if (begin >= n || p[begin] != '"')
        return false;
    size_t end = skip_string(p, begin, n);
    size_t value = skip_white(p, skip_white(p, end, n) + 1, n), last = skip_value(p, value, n);
    part->key = (struct wire_bytes){p + begin, end - begin};
    part->value = (struct wire_bytes){p + value, last - value};
    *at = skip_white(p, last, n) + 1; /* the comma */
    return true;
}

/* The text of a member's value; no bytes: there is none. */
static struct wire_bytes text_of(struct wire_bytes text, const char *key, size_t length)
{
    struct wire_json_part part;
    text = wire_json_skip_mark(text);
    for (size_t at = 0; wire_json_each(text, &at, &part);)
        if (is_key(part.key.data, part.key.length, key, length))
            return part.value;
    return (struct wire_bytes){"", 0};
}

struct wire_bytes wire_json_digits(struct wire_bytes text, const char *key)
{
    struct wire_bytes found = text_of(text, key, strlen(key));
    for (const char *dot = strchr(key, '.'); !found.length && dot; dot = strchr(dot + 1, '.')) {
        struct wire_bytes inner = text_of(text, key, (size_t)(dot - key));
        if (inner.length && *(const char *)inner.data == '{')
            found = wire_json_digits(inner, dot + 1);
    }
    return found;
}

json_t *wire_json_member(const json_t *object, const char *key)
{
    json_t *v = json_object_get(object, key);
    for (const char *dot = strchr(key, '.'); !v && dot; dot = strchr(dot + 1, '.')) {
        const json_t *inner = json_object_getn(object, key, (size_t)(dot - key));
        v = json_is_object(inner) ? wire_json_member(inner, dot + 1) : NULL;
    }
    return v;
}

struct fis_value wire_json_number_value(const json_t *number, struct wire_bytes text,
                                        const char *key)
{
    struct wire_bytes digits = wire_json_digits(text, key);
    return (struct fis_value){.kind = FIS_VALUE_NUMBER,
                              .number = json_number_value(number) + 0.0,
                              .text = digits.data,
                              .length = digits.length};
}

bool wire_json_whole(const json_t *v, int64_t *number)
{
    if (json_is_real(v) && fabs(json_real_value(v)) <= 0x1p53 &&
        nearbyint(json_real_value(v)) == json_real_value(v))
        *number = (int64_t)json_real_value(v);
    else if (json_is_integer(v))
        *number = json_integer_value(v);
    else
        return false;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

json_t *wire_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *wire_json_count(uint64_t n)
{
    return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

json_t *wire_json_privacy(const struct wire_privacy *p)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "refreshes",
                     wire_json_count(p->refreshes), "exact", wire_json_count(p->exact), "rho",
                     wire_json_real(p->rho), "noise", wire_json_real(p->noise), "clip",
                     wire_json_real(p->clip), "delta", wire_json_real(p->delta), "epsilon",
                     wire_json_real(p->epsilon));
}

struct target {
    struct byte_buffer *out;
    bool failed;
};

/* Jansson (2.14) does not look whether a key could be written: the failure is kept here. */
static int dump(const char *bytes, size_t length, void *arg)
{
    struct target *t = arg;
    struct fis_error none;
    t->failed = t->failed || byte_buffer_append(t->out, bytes, length, &none);
    return t->failed ? -1 : 0;
}

int wire_json_dump(json_t *take, size_t flags, struct byte_buffer *out, struct fis_error *e)
{
    struct target t = {.out = out};
    size_t start = out->length;
    bool failed = !take || json_dump_callback(take, dump, &t, flags) || t.failed;
    json_decref(take);
    if (!failed)
        return 0;
    out->length = start;
    return fis_fail(e, FIS_NOMEM, "no memory for JSON");
}
