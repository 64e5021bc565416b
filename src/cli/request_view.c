#include "cli/request_view.h"

#include "cli/screen.h"
#include "fis/mem.h"
#include "wire/record_image.h"

static const char *column_name(const void *config, uint32_t i)
{
    const struct config *cfg = config;
    return i < cfg->columns.count ? cfg->columns.items[i].name : NULL;
}

int request_read(const struct cli *c, const struct wire_message *m, int with_record,
                 struct wire_request_shown *out, struct fis_error *e)
{
    const struct wire_request_reader reader = {.encoding = c->labels_encoding,
                                               .column = column_name,
                                               .arg = &c->cfg,
                                               .schema = &c->schema};
    int rc = wire_request_show(&reader, m, with_record != 0, out, e);
    screen_clean(out->criterion);
    screen_clean(out->reason);
    return rc;
}

static void value_text(const json_t *value, char *out, size_t size)
{
    char shown[WIRE_IMAGE_SHOWN];
    if (json_is_string(value) &&
        wire_image_show(json_string_value(value), json_string_length(value), shown)) {
        snprintf(out, size, "%s", shown);
    } else if (json_is_string(value)) {
        snprintf(out, size, "%s", json_string_value(value));
    } else if (json_is_real(value)) {
        snprintf(out, size, "%.9g", json_real_value(value));
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        snprintf(out, size, "%s", text ? text : "?");
        fis_free(text);
    }
    screen_clean(out);
}

void request_print(const struct wire_request_shown *r, int columns, FILE *out)
{
    const char *key;
    json_t *value;
    char name[128], text[1024];
    size_t widest = 0, room = columns > 20 ? (size_t)columns : 80;
    if (!r->record) {
        fputs("  (the record cannot be shown)\n", out);
        return;
    }
    json_object_foreach(r->record, key, value)
    {
        size_t w = screen_width(key);
        widest = w > widest && w <= 40 ? w : widest;
    }
    json_object_foreach(r->record, key, value)
    {
        snprintf(name, sizeof name, "%s", key);
        screen_clean(name);
        value_text(value, text, sizeof text);
        size_t w = screen_width(name), pad = w < widest ? widest - w : 0;
        size_t left = room > w + pad + 5 ? room - w - pad - 5 : 10;
        text[screen_cut(text, left)] = 0;
        fprintf(out, "  %s%*s  %s\n", name, (int)pad, "", text);
    }
}
