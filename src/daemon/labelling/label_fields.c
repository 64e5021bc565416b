#include "daemon/labelling/label_fields.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fis/mem.h"
#include "wire/json_codec.h"
#include "wire/json_text.h"
#include "wire/record_image.h"

#define ADDRESS_MAX 8192 /* of http and https; pictures in data: have the record's limit */

/* ---- values as texts --------------------------------------------------------------------------
 */

static int append(struct byte_buffer *out, const char *text, size_t length)
{
    struct fis_error none;
    return byte_buffer_append(out, text, length, &none);
}

static int append_dump(struct byte_buffer *out, const json_t *v)
{
    char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
    int rc = text ? append(out, text, strlen(text)) : -1;
    fis_free(text);
    return rc;
}

/* A missing value is nothing. */
static int append_value(struct byte_buffer *out, const json_t *v)
{
    struct fis_error none;
    if (!v || json_is_null(v))
        return 0;
    if (json_is_string(v))
        return append(out, json_string_value(v), json_string_length(v));
    if (json_is_real(v))
        return wire_json_number(out, json_real_value(v), &none);
    return append_dump(out, v);
}

/* ---- addresses --------------------------------------------------------------------------------
 */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

/* What is special in an address is escaped, slashes too. */
static int append_escaped(struct byte_buffer *out, const json_t *v)
{
    struct byte_buffer text = {0};
    int rc = append_value(&text, v);
    for (size_t i = 0; !rc && i < text.length; i++) {
        char c = (char)text.data[i], code[4];
        snprintf(code, sizeof code, "%%%02X", (unsigned)(unsigned char)c);
        rc = is_plain(c) ? append(out, &c, 1) : append(out, code, 3);
    }
    byte_buffer_done(&text);
    return rc;
}

static int append_template(struct byte_buffer *out, const char *t, const json_t *record,
                           bool address)
{
    int rc = 0;
    while (!rc && *t) {
        size_t n = strcspn(t, "{"), name = t[n] ? strcspn(t + n + 1, "}") : 0;
        rc = append(out, t, n);
        t += n;
        if (!*t || rc)
            break;
        char column[WIRE_JSON_PATH];
        snprintf(column, sizeof column, "%.*s", (int)name, t + 1);
        const json_t *v = wire_json_member(record, column);
        rc = address ? append_escaped(out, v) : append_value(out, v);
        t += name + 1 + (t[name + 1] == '}');
    }
    return rc;
}

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

/* Scheme, a host without a user before it, and nothing that an address cannot have. */
static bool is_web(const char *text, size_t length)
{
    size_t scheme = begins(text, "https://") ? 8 : begins(text, "http://") ? 7 : 0;
    size_t host = strcspn(text + scheme, "/?#");
    if (!scheme || !host || length > ADDRESS_MAX || memchr(text + scheme, '@', host))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f || text[i] == '\\')
            return false;
    return true;
}

/* No SVG: it is a document. */
static bool is_picture(const char *text)
{
    return begins(text, "data:image/png;base64,") || begins(text, "data:image/jpeg;base64,") ||
           begins(text, "data:image/gif;base64,") || begins(text, "data:image/webp;base64,");
}

/* ---- fields -----------------------------------------------------------------------------------
 */

static const char *kind_of(const struct config_show *s, bool missing,
                           const struct byte_buffer *text)
{
    const char *t = (const char *)text->data;
    if (missing || !text->length)
        return "missing";
    bool web = s->as != CONFIG_SHOW_TEXT && is_web(t, text->length);
    if (s->as == CONFIG_SHOW_IMAGE && (web || is_picture(t)))
        return "image";
    return s->as == CONFIG_SHOW_LINK && web ? "link" : "text";
}

/* A record's image, which is base64, as an address; of its type, whatever one it came with. */
static int append_image(struct byte_buffer *out, const json_t *v, const char *type)
{
    const char *text = json_string_value(v);
    const size_t length = json_string_length(v), prefix = wire_image_prefix(text, length);
    int rc = append(out, "data:", 5);
    if (!rc)
        rc = append(out, type, strlen(type));
    if (!rc)
        rc = append(out, ";base64,", 8);
    return rc ? rc : append(out, text + prefix, length - prefix);
}

static json_t *field(const struct config_show *s, const json_t *record)
{
    const json_t *v = wire_json_member(record, s->column);
    bool missing = !v || json_is_null(v);
    struct byte_buffer text = {0};
    const char *type = s->as == CONFIG_SHOW_IMAGE && json_is_string(v)
                           ? wire_image_type(json_string_value(v), json_string_length(v))
                           : NULL;
    int rc = s->template ? append_template(&text, s->template, record, s->as != CONFIG_SHOW_TEXT)
             : type      ? append_image(&text, v, type)
                         : append_value(&text, v);
    if (!rc)
        rc = append(&text, "", 1);
    json_t *out = NULL;
    if (!rc) {
        text.length--;
        json_t *value = json_stringn((const char *)text.data, text.length);
        out = json_pack("{s:s, s:s?, s:s, s:o}", "name", s->name ? s->name : s->column, "help",
                        s->help, "as", kind_of(s, missing, &text), "value",
                        value ? value : json_string("(not UTF-8)"));
    }
    byte_buffer_done(&text);
    return out;
}

static int add(json_t *list, json_t *one)
{
    return one ? json_array_append_new(list, one) : -1;
}

json_t *label_fields(const struct config *cfg, const json_t *record)
{
    const struct config_shows *show = &cfg->labels.show;
    json_t *list = json_array();
    const char *key;
    json_t *v;
    int rc = list ? 0 : -1;
    for (uint32_t i = 0; !rc && i < show->count; i++)
        rc = add(list, field(&show->items[i], record));
    if (!rc && !show->count)
        json_object_foreach((json_t *)(uintptr_t)record, key, v)
        {
            const bool image = cfg->model.image.count && strcmp(key, WIRE_IMAGE) == 0;
            const struct config_show one = {.column = (char *)(uintptr_t)key,
                                            .as = image ? CONFIG_SHOW_IMAGE : CONFIG_SHOW_TEXT};
            if (!rc && strcmp(key, cfg->records.id) != 0)
                rc = add(list, field(&one, record));
        }
    if (rc) {
        json_decref(list);
        return NULL;
    }
    return list;
}
