/*
 * A record as the labelling page shows it: labels.show, or all its columns but the id, in their
 * order. Values are texts; an address is one only where labels.show says so, and only http, https
 * or (of an image) data: of a picture. Nothing is markup.
 *
 * Thread: no state. Owns: nothing.
 */
#ifndef DAEMON_LABEL_FIELDS_H
#define DAEMON_LABEL_FIELDS_H

#include <jansson.h>

#include "config/config.h"

/* [{"name", "help" (or null), "as": "text", "image", "link", "missing"; "value"}]; NULL: no
 * memory. */
json_t *label_fields(const struct config *cfg, const json_t *record);

#endif
