/*
 * Records in JSON, the fast way: one pass over the text, values straight into their columns, no
 * tree. It takes what nearly all records are, a flat object of columns whose texts have no escapes,
 * and gives up on anything else: then jansson has a look, and says what is wrong, or that nothing
 * is. So whatever is taken here must mean the same there.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/json_impl.h"
#include "wire/json_text.h"
#include "wire/record_image.h"
#include "base/utf8.h"

struct text {
    const unsigned char *at, *end;
};

static void skip_space(struct text *t)
{
    while (t->at < t->end && (*t->at == ' ' || (*t->at >= '\t' && *t->at <= '\r' &&
                                                *t->at != '\v' && *t->at != '\f')))
        t->at++;
}

/* Past the character, if it is next. */
static bool skip(struct text *t, unsigned char c)
{
    if (t->at == t->end || *t->at != c)
        return 0;
    t->at++;
    return 1;
}

/* A text without escapes and control characters, behind its first quote. */
static bool read_text(struct text *t, struct wire_bytes *out)
{
    const unsigned char *p = t->at;
    unsigned char high = 0;
    while (p < t->end && *p != '"' && *p != '\\' && *p >= 0x20)
        high |= *p++;
    if (p == t->end || *p != '"')
        return false;
    *out = (struct wire_bytes){t->at, (size_t)(p - t->at)};
    t->at = p + 1;
    return high < 0x80 || utf8_prefix(out->data, out->length) == out->length;
}

/* Digits into the mantissa; how many, leading zeros and all. */
static int read_digits(struct text *t, uint64_t *mantissa)
{
    const unsigned char *begin = t->at;
    while (t->at < t->end && (unsigned)(*t->at - '0') < 10)
        *mantissa = *mantissa * 10 + (unsigned)(*t->at++ - '0');
    return t->at - begin > 19 ? 20 : (int)(t->at - begin);
}

static bool read_exponent(struct text *t, int *exponent)
{
    int negative = skip(t, '-');
    uint64_t e = 0;
    if (!negative)
        skip(t, '+');
    int digits = read_digits(t, &e);
    *exponent += negative ? -(int)e : (int)e;
    return digits > 0 && digits < 4;
}

/* The double nearest to mantissa * 10^exponent, where one rounding gives it: both factors are exact
 * (Clinger, 1990). */
static bool exact(uint64_t mantissa, int exponent, double *out)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (mantissa > UINT64_C(1) << 53 || exponent < -22 || exponent > 22)
        return false;
    *out = exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
    return true;
}

/* Any other number goes to the C library, as jansson has it; it needs a text that ends. */
static int any(const unsigned char *begin, const unsigned char *end, double *out)
{
    char text[40];
    size_t n = (size_t)(end - begin);
    if (n >= sizeof text)
        return 0;
    memcpy(text, begin, n);
    text[n] = 0;
    *out = strtod(text, NULL) + 0.0; /* no -0 */
    return *out <= 1e300 && *out >= -1e300;
}

/* A number: its value, and whether it was written as an integer. */
static bool read_number(struct text *t, double *out, bool *integer)
{
    const unsigned char *begin = t->at;
    uint64_t mantissa = 0;
    int exponent = 0, negative = skip(t, '-');
    const unsigned char *first = t->at;
    int digits = read_digits(t, &mantissa), all = digits;
    if (digits == 0 || (digits > 1 && *first == '0'))
        return false;
    *integer = 1;
    if (skip(t, '.')) {
        int more = read_digits(t, &mantissa);
        *integer = 0;
        all += more;
        exponent = -more;
        if (more == 0)
            return false;
    }
    if (t->at < t->end && (*t->at | 0x20) == 'e') {
        t->at++;
        *integer = 0;
        if (!read_exponent(t, &exponent))
            return false;
    }
    if (all > 19 || !exact(mantissa, exponent, out))
        return any(begin, t->at, out);
    if (negative && mantissa) /* -0 is 0 */
        *out = -*out;
    return true;
}

/* null, true, false: -1 when it is none of them. */
static int read_word(struct text *t)
{
    static const char *const words[] = {"null", "true", "false"};
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(t->end - t->at) >= n && memcmp(t->at, words[i], n) == 0) {
            t->at += n;
            return i;
        }
    }
    return -1;
}

static int read_value(struct text *t, struct fis_value *v, bool *integer)
{
    struct wire_bytes text;
    *v = (struct fis_value){.kind = FIS_VALUE_MISSING};
    *integer = 0;
    if (skip(t, '"')) {
        if (!read_text(t, &text))
            return 0;
        v->kind = FIS_VALUE_TEXT;
        v->text = text.data;
        v->length = text.length;
        return 1;
    }
    if (t->at < t->end && (*t->at == '-' || (unsigned)(*t->at - '0') < 10)) {
        v->kind = FIS_VALUE_NUMBER;
        v->text = (const char *)t->at;
        int ok = read_number(t, &v->number, integer);
        v->length = (size_t)((const char *)t->at - v->text);
        return ok;
    }
    return read_word(t) == 0;
}

static bool same(const char *name, struct wire_bytes key)
{
    return strncmp(name, key.data, key.length) == 0 && name[key.length] == 0;
}

enum { OTHERS = 64 };

struct flat {
    const struct wire_schema *schema;
    const struct fis_encoder *encoder;
    struct fis_value *values; /* [columns] */
    unsigned char *seen;      /* [columns] */
    uint32_t expected;        /* records mostly have their columns in order */
    struct wire_bytes id;
    bool id_seen;
    struct wire_bytes others[OTHERS]; /* keys that are no columns and may be there */
    uint32_t n_others;
};

static int find(struct flat *f, struct wire_bytes key)
{
    uint32_t n = fis_encoder_columns(f->encoder), next = f->expected < n ? f->expected : 0;
    if (!same(fis_encoder_column(f->encoder, next)->name, key)) {
        int i = fis_encoder_find(f->encoder, key.data, key.length);
        if (i < 0)
            return -1;
        next = (uint32_t)i;
    }
    f->expected = next + 1;
    return (int)next;
}

static bool is_id(const struct flat *f, struct wire_bytes key)
{
    return f->schema->id_column && same(f->schema->id_column, key);
}

/* Keys that are no columns: what their values are does not matter, but they come once only. */
static bool take_other(struct flat *f, struct wire_bytes key)
{
    if (f->n_others == OTHERS || (f->schema->image.height && same(WIRE_IMAGE, key)) ||
        wire_schema_unknown(f->schema, key.data, key.length) == WIRE_REFUSE)
        return false;
    for (uint32_t i = 0; i < f->n_others; i++)
        if (f->others[i].length == key.length && !memcmp(f->others[i].data, key.data, key.length))
            return false;
    f->others[f->n_others++] = key;
    return true;
}

static bool take_id(struct flat *f, const struct fis_value *v, int integer)
{
    if (f->id_seen)
        return false;
    f->id_seen = true;
    if (v->kind == FIS_VALUE_TEXT)
        f->id = (struct wire_bytes){v->text, v->length};
    else if (v->kind == FIS_VALUE_NUMBER && integer)
        f->id = (struct wire_bytes){v->text, v->length};
    else if (v->kind == FIS_VALUE_NUMBER)
        return false;
    return v->kind != FIS_VALUE_TEXT || v->length > 0;
}

static int read_member(struct flat *f, struct text *t)
{
    struct wire_bytes key;
    struct fis_value v;
    bool integer;
    skip_space(t);
    if (!skip(t, '"') || !read_text(t, &key))
        return 0;
    skip_space(t);
    if (!skip(t, ':'))
        return 0;
    skip_space(t);
    int column = find(f, key);
    if (!read_value(t, &v, &integer))
        return 0;
    skip_space(t);
    if (column >= 0 && is_id(f, key))
        return 0; /* a column that is the id too */
    if (column < 0)
        return is_id(f, key) ? take_id(f, &v, integer) : take_other(f, key);
    if (f->seen[column]++)
        return 0;
    if (f->schema->numeric_text && v.kind == FIS_VALUE_TEXT &&
        fis_encoder_column(f->encoder, (uint32_t)column)->type == FIS_NUMERIC)
        wire_number_of_text(&v);
    f->values[column] = v;
    return 1;
}

static bool read_object(struct flat *f, struct wire_bytes bytes)
{
    struct text t = {bytes.data, (const unsigned char *)bytes.data + bytes.length};
    skip_space(&t);
    if (!skip(&t, '{'))
        return false;
    do {
        if (!read_member(f, &t))
            return false;
    } while (skip(&t, ','));
    if (!skip(&t, '}'))
        return false;
    skip_space(&t);
    return t.at == t.end;
}

bool wire_json_flat(const struct wire_schema *schema, const struct fis_encoder *encoder,
                    struct wire_bytes bytes, struct fis_arena *arena, struct fis_value **values,
                    struct wire_bytes *id)
{
    uint32_t n = fis_encoder_columns(encoder);
    struct flat f; /* others[] are many, and few are used */
    f.schema = schema;
    f.encoder = encoder;
    f.expected = f.n_others = 0;
    f.id_seen = false;
    f.id = (struct wire_bytes){NULL, 0};
    f.values = fis_arena_alloc(arena, n * sizeof *f.values);
    f.seen = fis_arena_alloc(arena, n);
    if (!f.values || !f.seen)
        return false;
    memset(f.seen, 0, n);
    if (!read_object(&f, bytes))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!f.seen[i] && schema->image.height)
            return 0; /* an image without a pixel is none */
        else if (!f.seen[i])
            f.values[i] = (struct fis_value){.kind = FIS_VALUE_MISSING};
    *values = f.values;
    *id = f.id;
    return true;
}
