#include "config/schema.h"

#define NAMES(list)                                                                                \
    {                                                                                              \
        (const char *const *)(list).items, (list).count                                            \
    }

enum wire_encoding config_wire_encoding(int encoding)
{
    static const enum wire_encoding all[] = {[CONFIG_JSON] = WIRE_JSON,
                                             [CONFIG_PROTOBUF] = WIRE_PROTOBUF,
                                             [CONFIG_RAW] = WIRE_RAW,
                                             [CONFIG_REGISTRY] = WIRE_REGISTRY};
    return all[encoding];
}

struct wire_selection config_selection(const struct config *cfg)
{
    return (struct wire_selection){cfg->selection.heap, cfg->selection.distinct,
                                   cfg->selection.seed};
}

struct wire_schema config_schema(const struct config *cfg)
{
    const uint32_t *side = cfg->model.image.count ? cfg->model.image.items : NULL;
    /* Records by a registry are JSON without a frame where this is looked at. */
    int framing =
        cfg->records.encoding == CONFIG_REGISTRY ? CONFIG_FRAMING_AUTO : cfg->records.framing;
    return (struct wire_schema){
        .image = side ? (struct image_shape){side[0], side[1], side[2]} : (struct image_shape){0},
        .max_pixels = cfg->records.max_pixels,
        .classes = (const char *const *)cfg->classes.items,
        .n_classes = cfg->classes.count,
        .id_column = cfg->records.id,
        .max_bytes = cfg->records.max_bytes,
        .members = {.others = (enum wire_unknown)cfg->records.unknown,
                    .listed = {[WIRE_REFUSE] = NAMES(cfg->records.refuse),
                               [WIRE_IGNORE] = NAMES(cfg->records.ignore),
                               [WIRE_PASS] = NAMES(cfg->records.passthrough)},
                    .sensitive = NAMES(cfg->validation.sensitive)},
        .numeric_text = cfg->records.numeric_text,
        .framing = {(enum wire_framing_kind)framing, cfg->records.message_index.items,
                    cfg->records.message_index.count},
        .label_framing = {(enum wire_framing_kind)cfg->labels.framing,
                          cfg->labels.message_index.items, cfg->labels.message_index.count},
    };
}

struct wire_schema config_initial_schema(const struct config *cfg)
{
    struct wire_schema s = config_schema(cfg);
    s.label_column = cfg->initial.label;
    return s;
}

struct wire_schema config_validation_schema(const struct config *cfg)
{
    struct wire_schema s = config_schema(cfg);
    s.label_column = cfg->validation.label;
    s.sensitive = (const char *const *)cfg->validation.sensitive.items;
    s.n_sensitive = cfg->validation.sensitive.count;
    s.missing = (const char *const *)cfg->validation.missing.items;
    s.n_missing = cfg->validation.missing.count;
    s.declared = (const char *const *)cfg->validation.groups.items;
    s.n_declared = cfg->validation.groups.count;
    return s;
}
