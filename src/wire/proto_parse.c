/*
 * The text of a .proto file (proto2, proto3, editions): messages, enums and fields. What says
 * nothing of how a record is encoded is passed over: options, services, reserved names, extensions.
 * https://protobuf.dev/reference/protobuf/proto3-spec/
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "fis/mem.h"
#include "wire/json_text.h"
#include "wire/proto_impl.h"

enum token { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_STRING, TOKEN_SYMBOL };

struct parser {
    struct proto_plan *plan;
    uint32_t file;
    const char *at, *end;
    unsigned line;
    bool implicit; /* proto3: a scalar is its default where it is absent */
    enum token token;
    const char *text; /* of the token */
    size_t length;
    char scope[512]; /* full name of what is around */
    struct fis_error *e;
};

/* ---- tokens ---------------------------------------------------------------------------------- */

static int wrong(struct parser *p, const char *what)
{
    return fis_refuse(p->e, FIS_CODE_MALFORMED, "protobuf: %s, at line %u of the schema", what,
                      p->line);
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static void skip_until(struct parser *p, const char *stop)
{
    for (; p->at < stop; p->at++)
        p->line += *p->at == '\n';
}

/* Space and comments. */
static void skip_space(struct parser *p)
{
    for (size_t left; (left = (size_t)(p->end - p->at)) > 0;) {
        const char *stop = p->at;
        if (left > 1 && p->at[0] == '/' && p->at[1] == '/') {
            stop = memchr(p->at, '\n', left);
        } else if (left > 1 && p->at[0] == '/' && p->at[1] == '*') {
            for (stop = p->at + 2; stop + 1 < p->end && (stop[0] != '*' || stop[1] != '/');)
                stop++;
            stop = stop + 1 < p->end ? stop + 2 : NULL;
        } else if (*p->at && strchr(" \t\r\n\v\f", *p->at)) {
            stop++;
        } else {
            return;
        }
        skip_until(p, stop ? stop : p->end);
    }
}

/* A string stays in its quotes. */
static int read_string(struct parser *p)
{
    char quote = *p->at++;
    while (p->at < p->end && *p->at != quote && *p->at != '\n')
        p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
    if (p->at >= p->end || *p->at != quote)
        return wrong(p, "a string that does not end");
    p->at++;
    p->token = TOKEN_STRING;
    return 0;
}

static int next(struct parser *p)
{
    skip_space(p);
    p->text = p->at;
    p->token = TOKEN_END;
    if (p->at == p->end)
        return 0;
    int rc = 0;
    if (*p->at == '"' || *p->at == '\'') {
        rc = read_string(p);
    } else if (is_word_char(*p->at)) {
        p->token = *p->at >= '0' && *p->at <= '9' ? TOKEN_NUMBER : TOKEN_WORD;
        while (p->at < p->end && is_word_char(*p->at))
            p->at++;
    } else {
        p->token = TOKEN_SYMBOL;
        p->at++;
    }
    p->length = (size_t)(p->at - p->text);
    return rc;
}

static bool is(const struct parser *p, const char *text)
{
    return p->token != TOKEN_END && p->length == strlen(text) && !memcmp(p->text, text, p->length);
}

static int expect(struct parser *p, const char *text)
{
    char what[64];
    if (is(p, text))
        return next(p);
    snprintf(what, sizeof what, "'%s' expected", text);
    return wrong(p, what);
}

/* Up to what closes it or, within nothing, to the semicolon; behind that. */
static int skip_to(struct parser *p, const char *close)
{
    unsigned depth = 0;
    for (;;) {
        if (p->token == TOKEN_END)
            return wrong(p, "the text ends in the middle");
        if (!depth && is(p, close))
            return next(p);
        if (p->token == TOKEN_SYMBOL && strchr("{[(", *p->text))
            depth++;
        if (p->token == TOKEN_SYMBOL && strchr("}])", *p->text) && depth-- == 0)
            return wrong(p, "a bracket that was not opened");
        int rc = next(p);
        if (rc)
            return rc;
    }
}

static int skip_block(struct parser *p)
{
    int rc = 0;
    while (!rc && !is(p, "{") && p->token != TOKEN_END)
        rc = next(p);
    if (!rc)
        rc = expect(p, "{");
    return rc ? rc : skip_to(p, "}");
}

/* ---- what there is --------------------------------------------------------------------------- */

/* Room for one more than n. */
static int make_room(void *list, uint32_t n, size_t size, struct fis_error *e)
{
    if (n >= WIRE_FORMAT_NODES)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "a schema of more than %u fields",
                          WIRE_FORMAT_NODES);
    return fis_more(list, n, size) ? 0
                                   : fis_fail(e, FIS_NOMEM, "no memory for a schema of protobuf");
}

static int put_name(struct proto_plan *p, const char *text, size_t length, uint32_t *at,
                    struct fis_error *e)
{
    *at = (uint32_t)p->names.length;
    int rc = byte_buffer_append(&p->names, text, length, e);
    return rc ? rc : byte_buffer_append(&p->names, "", 1, e);
}

static int put_key(struct parser *p, const char *text, size_t length, uint32_t *at, uint32_t *n)
{
    *at = (uint32_t)p->plan->names.length;
    int rc = wire_json_escape(&p->plan->names, text, length, p->e);
    *n = (uint32_t)(p->plan->names.length - *at);
    return rc;
}

/* The word, as a part of the scope; the length to go back to. */
static int enter(struct parser *p, size_t *before)
{
    *before = strlen(p->scope);
    if (p->token != TOKEN_WORD || p->length + *before + 2 > sizeof p->scope)
        return wrong(p, "a name expected");
    snprintf(p->scope + *before, sizeof p->scope - *before, "%s%.*s", *before ? "." : "",
             (int)p->length, p->text);
    return next(p);
}

static int take_type(struct parser *p, bool is_enum, uint32_t parent, uint32_t place, uint32_t *at)
{
    struct proto_plan *plan = p->plan;
    struct proto_type_of type = {
        .is_enum = is_enum, .parent = parent, .place = place, .file = p->file};
    int rc = make_room(&plan->types, plan->n_types, sizeof type, p->e);
    if (!rc)
        rc = put_name(plan, p->scope, strlen(p->scope), &type.name, p->e);
    if (!rc)
        plan->types[ *at = plan->n_types++] = type;
    return rc;
}

static int take_field(struct parser *p, struct proto_field *field)
{
    struct proto_plan *plan = p->plan;
    int rc = make_room(&plan->fields, plan->n_fields, sizeof *field, p->e);
    if (!rc)
        plan->fields[plan->n_fields++] = *field;
    return rc;
}

static int read_number(struct parser *p, int64_t *number)
{
    uint64_t n = 0;
    bool negative = is(p, "-");
    int rc = negative ? next(p) : 0;
    if (rc)
        return rc;
    bool hex = p->length > 2 && p->length < 12 && p->text[0] == '0' && (p->text[1] | 32) == 'x';
    char digits[16] = "";
    if (hex)
        memcpy(digits, p->text, p->length);
    if (hex)
        n = strtoull(digits, NULL, 16);
    else if (p->token != TOKEN_NUMBER || decimal_whole(p->text, p->length, UINT32_MAX, &n))
        return wrong(p, "a number expected");
    *number = negative ? -(int64_t)n : (int64_t)n;
    return next(p);
}

/* "name = number", of a field or a value. */
static int read_assignment(struct parser *p, const char *what, uint32_t *key, uint32_t *length,
                           int64_t *number)
{
    int rc = p->token == TOKEN_WORD ? put_key(p, p->text, p->length, key, length) : wrong(p, what);
    if (!rc)
        rc = next(p);
    if (!rc)
        rc = expect(p, "=");
    return rc ? rc : read_number(p, number);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int read_type(struct parser *p, struct proto_field *f)
{
    static const struct {
        const char *name;
        enum proto_type type;
    } scalars[] = {
        {"double", PROTO_DOUBLE},   {"float", PROTO_FLOAT},       {"int64", PROTO_INT64},
        {"int32", PROTO_INT64},     {"uint64", PROTO_UINT64},     {"uint32", PROTO_UINT32},
        {"sint64", PROTO_SINT64},   {"sint32", PROTO_SINT64},     {"fixed64", PROTO_FIXED64},
        {"fixed32", PROTO_FIXED32}, {"sfixed64", PROTO_SFIXED64}, {"sfixed32", PROTO_SFIXED32},
        {"bool", PROTO_BOOL},       {"string", PROTO_STRING},     {"bytes", PROTO_BYTES}};
    if (p->token != TOKEN_WORD)
        return wrong(p, "a type expected");
    if (is(p, "group"))
        return wrong(p, "groups are not supported");
    f->type = PROTO_NAMED;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (is(p, scalars[i].name))
            f->type = scalars[i].type;
    int rc =
        f->type == PROTO_NAMED ? put_name(p->plan, p->text, p->length, &f->type_name, p->e) : 0;
    return rc ? rc : next(p);
}

/* map<key, value>: a message of its own, with the fields key and value. */
static int read_map(struct parser *p, struct proto_field *map)
{
    static const char *const names[] = {"key", "value"};
    struct proto_field parts[2] = {{.number = 1}, {.number = 2, .presence = false}};
    int rc = expect(p, "<");
    for (int i = 0; !rc && i < 2; i++) {
        rc = read_type(p, &parts[i]);
        if (!rc)
            rc = expect(p, i ? ">" : ",");
        if (!rc)
            rc = put_key(p, names[i], strlen(names[i]), &parts[i].key, &parts[i].key_length);
    }
    if (!rc)
        rc = take_type(p, false, PROTO_NONE, PROTO_NONE, &map->target);
    for (int i = 0; !rc && i < 2; i++) {
        parts[i].owner = map->target;
        rc = take_field(p, &parts[i]);
    }
    map->type = PROTO_MESSAGE;
    map->repeated = map->map = true;
    return rc;
}

static int read_field(struct parser *p, uint32_t owner, bool oneof)
{
    struct proto_field f = {.owner = owner};
    int64_t number = 0;
    f.repeated = is(p, "repeated");
    f.presence = oneof || !p->implicit || is(p, "optional");
    int rc = f.repeated || is(p, "optional") || is(p, "required") ? next(p) : 0;
    if (!rc && is(p, "map") && p->at < p->end && (*p->at == '<' || *p->at == ' ')) {
        rc = next(p);
        if (!rc)
            rc = read_map(p, &f);
    } else if (!rc) {
        rc = read_type(p, &f);
    }
    if (!rc)
        rc = read_assignment(p, "a field's name expected", &f.key, &f.key_length, &number);
    if (!rc && (number < 1 || number > 536870911))
        rc = wrong(p, "a field's number of 1 to 536870911 expected");
    f.number = (uint32_t)number;
    if (!rc && is(p, "["))
        rc = next(p) || skip_to(p, "]") ? -(int)p->e->kind : 0;
    if (!rc)
        rc = expect(p, ";");
    return rc ? rc : take_field(p, &f);
}

static int read_oneof(struct parser *p, uint32_t owner)
{
    int rc = next(p); /* its name, which is nowhere else */
    if (!rc)
        rc = expect(p, "{");
    while (!rc && !is(p, "}"))
        rc = is(p, "option") ? skip_to(p, ";") : read_field(p, owner, true);
    return rc ? rc : next(p);
}

/* ---- messages and enums ---------------------------------------------------------------------- */

static int read_value(struct parser *p)
{
    struct proto_plan *plan = p->plan;
    struct proto_value v = {0};
    int rc = make_room(&plan->values, plan->n_values, sizeof v, p->e);
    if (!rc)
        rc = read_assignment(p, "a value's name expected", &v.key, &v.key_length, &v.number);
    if (!rc)
        rc = skip_to(p, ";");
    if (!rc)
        plan->values[plan->n_values++] = v;
    return rc;
}

static int read_enum(struct parser *p)
{
    size_t before;
    uint32_t at = 0, first = p->plan->n_values;
    int rc = next(p);
    if (!rc)
        rc = enter(p, &before);
    if (!rc)
        rc = take_type(p, true, PROTO_NONE, PROTO_NONE, &at);
    if (!rc)
        rc = expect(p, "{");
    while (!rc && !is(p, "}"))
        rc = is(p, ";")                             ? next(p)
             : is(p, "option") || is(p, "reserved") ? skip_to(p, ";")
                                                    : read_value(p);
    if (rc)
        return rc;
    p->plan->types[at].first = first;
    p->plan->types[at].n = p->plan->n_values - first;
    p->scope[before] = 0;
    return next(p);
}

static int read_message(struct parser *p, uint32_t parent, uint32_t place, unsigned depth);

static int read_part(struct parser *p, uint32_t at, uint32_t *inner, unsigned depth)
{
    if (is(p, ";"))
        return next(p);
    if (is(p, "message"))
        return read_message(p, at, (*inner)++, depth + 1);
    if (is(p, "enum"))
        return read_enum(p);
    if (is(p, "oneof"))
        return next(p) ? -(int)p->e->kind : read_oneof(p, at);
    if (is(p, "option") || is(p, "reserved") || is(p, "extensions"))
        return skip_to(p, ";");
    return is(p, "extend") ? skip_block(p) : read_field(p, at, false);
}

static int read_message(struct parser *p, uint32_t parent, uint32_t place, unsigned depth)
{
    size_t before;
    uint32_t at = 0, inner = 0;
    if (depth > WIRE_FORMAT_DEPTH)
        return wrong(p, "messages nested too deeply");
    int rc = next(p);
    if (!rc)
        rc = enter(p, &before);
    if (!rc)
        rc = take_type(p, false, parent, place, &at);
    if (!rc)
        rc = expect(p, "{");
    while (!rc && !is(p, "}"))
        rc = p->token == TOKEN_END ? wrong(p, "the text ends in the middle")
                                   : read_part(p, at, &inner, depth);
    if (rc)
        return rc;
    p->scope[before] = 0;
    return next(p);
}

static int read_syntax(struct parser *p)
{
    int rc = next(p);
    if (!rc)
        rc = expect(p, "=");
    p->implicit = is(p, "\"proto3\"") || is(p, "'proto3'");
    return rc ? rc : skip_to(p, ";");
}

static int read_package(struct parser *p)
{
    size_t before;
    int rc = next(p);
    if (!rc)
        rc = enter(p, &before);
    return rc ? rc : expect(p, ";");
}

static int read_statement(struct parser *p, uint32_t *messages)
{
    if (is(p, ";"))
        return next(p);
    if (is(p, "syntax"))
        return read_syntax(p);
    if (is(p, "package"))
        return read_package(p);
    if (is(p, "message"))
        return read_message(p, PROTO_NONE, (*messages)++, 0);
    if (is(p, "enum"))
        return read_enum(p);
    if (is(p, "import") || is(p, "option") || is(p, "edition"))
        return skip_to(p, ";");
    return is(p, "service") || is(p, "extend") ? skip_block(p)
                                               : wrong(p, "a message or an enum expected");
}

int proto_parse(struct proto_plan *plan, uint32_t file, struct wire_bytes text, struct fis_error *e)
{
    struct parser p = {.plan = plan, .file = file, .at = text.data, .line = 1, .e = e};
    uint32_t messages = 0;
    p.end = p.at + text.length;
    int rc = next(&p);
    while (!rc && p.token != TOKEN_END)
        rc = read_statement(&p, &messages);
    return rc;
}
