/*
 * The table as a commented file, as a manual page, and a configuration in force as YAML.
 */
#include "base/secret.h"
#include "base/yaml.h"
#include "config/load.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define LINE_WIDTH 96

/* Prose as comment lines. */
static void write_comment(FILE *out, int indent, const char *text)
{
    while (*text) {
        size_t room = (size_t)(LINE_WIDTH - indent), length = strlen(text);
        if (length > room) {
            for (length = room; length && text[length] != ' '; length--)
                ;
            if (!length)
                length = strcspn(text, " ");
        }
        fprintf(out, "%*s# %.*s\n", indent, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

static const char *need_of(const struct option *o)
{
    return o->need == NEED_ALWAYS ? "Required: " : "Allowed: ";
}

static void write_default(FILE *out, int indent, const struct option *o)
{
    char allowed[256], text[600];
    config_allowed(o, allowed, sizeof allowed);
    write_comment(out, indent, o->meaning);
    snprintf(text, sizeof text, "%s%s.%s%s%s%s", need_of(o), allowed,
             o->otherwise ? " When absent: " : "", o->otherwise ? o->otherwise : "",
             o->otherwise ? "." : "", o->live ? " SIGHUP reloads it." : "");
    write_comment(out, indent, text);
    if (o->kind == KIND_ITEMS)
        for (const struct option *c = o->items; c->key; c++) {
            config_allowed(c, allowed, sizeof allowed);
            snprintf(text, sizeof text, "- %s: %s Allowed: %s%s%s.", config_leaf(c->key),
                     c->meaning, allowed, c->standard ? "; default " : "",
                     c->standard ? c->standard : "");
            write_comment(out, indent, text);
        }
    /* '#' and no space: to be filled in. '# ': may stay as it is. */
    const char *mark = o->standard ? "" : o->need == NEED_NONE ? "# " : "#";
    fprintf(out, "%*s%s%s: %s\n", indent, "", mark, config_leaf(o->key),
            o->standard ? o->standard : o->example);
}

void config_write_defaults(FILE *out)
{
    fputs(
        "# The configuration of fisd: every option, with its default.\n"
        "# Fill in the lines that start with '#' and a key with no space between, and take the\n"
        "# '#' away. What a '# key: value' line sets may stay unset; the value is an example.\n"
        "# ${NAME} in a value is replaced by the environment variable NAME ($${ is a plain ${).\n",
        out);
    size_t section = 0;
    for (const struct option *o = config_options; o->key; o++) {
        size_t length = config_section_length(o->key);
        bool same = length == section && (!length || !strncmp(o->key, o[-1].key, length + 1));
        fputc('\n', out);
        if (!same)
            fprintf(out, "%.*s:\n", (int)length, o->key);
        section = length;
        write_default(out, length ? 2 : 0, o);
    }
}

static void write_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        if (*text == '<') /* "<prefix>" is no HTML element */
            fputs("&lt;", out);
        else
            fputc(*text, out);
    }
}

static void write_row(FILE *out, const struct option *o)
{
    char allowed[256];
    config_allowed(o, allowed, sizeof allowed);
    fprintf(out, "| `%s` | ", o->key);
    write_cell(out, allowed);
    fputs(" | ", out);
    if (o->standard)
        fprintf(out, "`%s`", o->standard);
    else
        write_cell(out, o->otherwise             ? o->otherwise
                        : o->need == NEED_ALWAYS ? "**required**"
                                                 : "**required** where it applies");
    fputs(" | ", out);
    write_cell(out, o->meaning);
    fputs(o->live ? " Reloaded by SIGHUP. |\n" : " |\n", out);
}

void config_write_markdown(FILE *out)
{
    fputs("| key | allowed | default | meaning |\n|---|---|---|---|\n", out);
    for (const struct option *o = config_options; o->key; o++) {
        write_row(out, o);
        if (o->kind == KIND_ITEMS)
            for (const struct option *c = o->items; c->key; c++)
                write_row(out, c);
    }
}

/* ---- a configuration in force --------------------------------------------------------------- */

/* The shortest form that reads back as the same number. */
static void write_real(FILE *out, double v)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        double back;
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (sscanf(text, "%lf", &back) == 1 && !(back < v) && !(back > v))
            break;
    }
    fputs(text, out);
}

static void write_flags(FILE *out, const struct option *o, unsigned flags)
{
    const char *between = "";
    fputc('[', out);
    for (unsigned i = 0; o->choices[i]; i++)
        if (flags & 1u << i) {
            fprintf(out, "%s%s", between, o->choices[i]);
            between = ", ";
        }
    fputc(']', out);
}

static void write_names(FILE *out, const struct config_names *names)
{
    fputc('[', out);
    for (uint32_t i = 0; i < names->count; i++) {
        fputs(i ? ", " : "", out);
        yaml_put(out, names->items[i], false);
    }
    fputc(']', out);
}

static void write_layers(FILE *out, const struct config_layers *layers)
{
    fputc('[', out);
    for (uint32_t i = 0; i < layers->count; i++)
        fprintf(out, "%s%" PRIu32, i ? ", " : "", layers->items[i]);
    fputc(']', out);
}

static void write_value(FILE *out, const struct option *o, const void *field);

/* Not those of model.base, and no scale of a categorical column. */
static bool has_part(const struct option *part, const void *item)
{
    const struct config_column *c = item;
    if (part->kind == KIND_STRING)
        return *(char *const *)(const void *)((const char *)item + part->offset) != NULL;
    return strcmp(part->key, "columns[].scale") != 0 || c->type == CONFIG_NUMERIC;
}

static void write_items(FILE *out, const struct option *o, const struct config_items *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const char *item = (const char *)list->items + i * o->item_size, *between = "";
        if (o->items == config_column_options &&
            ((const struct config_column *)(const void *)item)->scale > CONFIG_SCALE_NONE)
            break;
        fputs(config_section_length(o->key) ? "\n    - {" : "\n  - {", out);
        for (const struct option *part = o->items; part->key; part++)
            if (has_part(part, item)) {
                fprintf(out, "%s%s: ", between, config_leaf(part->key));
                write_value(out, part, item + part->offset);
                between = ", ";
            }
        fputc('}', out);
    }
}

static void write_properties(FILE *out, const struct config_properties *properties)
{
    for (uint32_t i = 0; i < properties->count; i++) {
        const struct config_property *p = &properties->items[i];
        fputs("\n  ", out);
        yaml_put(out, p->name, true);
        fputs(": ", out);
        yaml_put(out, p->from ? p->from : secret_name(p->name) ? "***" : p->value, false);
    }
}

static void write_number(FILE *out, const struct option *o, const void *field)
{
    char text[40];
    switch (o->kind) {
    case KIND_BOOL:
        fputs(*(const bool *)field ? "true" : "false", out);
        break;
    case KIND_COUNT:
        fprintf(out, "%" PRIu32, *(const uint32_t *)field);
        break;
    case KIND_BIG:
        fprintf(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case KIND_REAL:
        write_real(out, *(const double *)field);
        break;
    case KIND_DURATION:
        config_format_duration(*(const uint64_t *)field, text, sizeof text);
        fputs(text, out);
        break;
    default:
        config_format_size(*(const uint64_t *)field, text, sizeof text);
        fputs(text, out);
    }
}

/* The items of a list whose first is the field. */
static void write_several(FILE *out, const char *first, const struct config_names *rest)
{
    fputc('[', out);
    yaml_put(out, first, false);
    for (uint32_t i = 0; i < rest->count; i++) {
        fputs(", ", out);
        yaml_put(out, rest->items[i], false);
    }
    fputc(']', out);
}

static void write_value(FILE *out, const struct option *o, const void *field)
{
    switch (o->kind) {
    case KIND_STRING:
        yaml_put(out, o->secret ? "***" : *(char *const *)field, false);
        break;
    case KIND_CHOICE:
        fputs(o->choices[*(const int *)field], out);
        break;
    case KIND_FLAGS:
        write_flags(out, o, *(const unsigned *)field);
        break;
    case KIND_NAMES:
        write_names(out, field);
        break;
    case KIND_LAYERS:
        write_layers(out, field);
        break;
    case KIND_ITEMS:
        write_items(out, o, field);
        break;
    case KIND_PROPERTIES:
        write_properties(out, field);
        break;
    default:
        write_number(out, o, field);
    }
}

/* Whether there is a value: a name that is not set, an empty list or map have none. */
static bool has_value(const struct config *cfg, const struct option *o, const void *field)
{
    switch (o->kind) {
    case KIND_STRING:
        return *(char *const *)field != NULL;
    case KIND_NAMES:
        return ((const struct config_names *)field)->count != 0 || o->standard;
    case KIND_ITEMS:
        return o->items == config_column_options ? !cfg->dimension
                                                 : ((const struct config_items *)field)->count != 0;
    case KIND_LAYERS:
        return o->offset != offsetof(struct config, model.image) || cfg->model.image.count;
    case KIND_PROPERTIES:
        return cfg->kafka.count != 0;
    default:
        return strcmp(o->key, "dimension") != 0 || (cfg->dimension && !cfg->model.image.count);
    }
}

void config_print(const struct config *cfg, FILE *out)
{
    const char *section = "";
    for (const struct option *o = config_options; o->key; o++) {
        const void *field = (const char *)cfg + o->offset;
        size_t length = config_section_length(o->key);
        if (!has_value(cfg, o, field))
            continue;
        if (length && strncmp(section, o->key, length + 1) != 0)
            fprintf(out, "%.*s:\n", (int)length, o->key);
        section = o->key;
        bool below = o->kind == KIND_ITEMS || o->kind == KIND_PROPERTIES;
        fprintf(out, "%s%s:%s", length ? "  " : "", config_leaf(o->key), below ? "" : " ");
        const struct config_names *rest = (const void *)((const char *)cfg + o->also);
        if (o->also && rest->count)
            write_several(out, *(char *const *)field, rest);
        else
            write_value(out, o, field);
        fputc('\n', out);
    }
}
