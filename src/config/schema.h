/*
 * What the configuration says of messages, in the words of src/wire. Texts and lists are borrowed
 * from it.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include "config/config.h"
#include "wire/types.h"

enum wire_encoding config_wire_encoding(int encoding); /* of records.encoding, labels.encoding */
struct wire_selection config_selection(const struct config *cfg);   /* as a head has it */
struct wire_schema config_schema(const struct config *cfg);         /* of records and labels */
struct wire_schema config_initial_schema(const struct config *cfg); /* with initial.label */
/* With validation.label and the sensitive columns. */
struct wire_schema config_validation_schema(const struct config *cfg);

#endif
