/* Configurations of a text, and what is printed, as a text. */
#ifndef TEST_KIT_CONFIG_TEXT_H
#define TEST_KIT_CONFIG_TEXT_H

#include <inttypes.h>
#include <unistd.h>

#include "config/option.h"
#include "config/topic_list.h"
#include "kit/cmocka.h"

#define CONFIG_TEXT_LEAST                                                                          \
    "pipeline: p\nclasses: [\"no\", \"yes\"]\ncolumns: [{name: a}, {name: b, type: "               \
    "categorical}]\n"                                                                              \
    "initial: {file: i.csv}\nvalidation: {file: v.csv, sensitive: [sex]}\n"

struct config config_text_load(const char *name, const char *text);

char *config_text_printed(void (*write)(FILE *));

char *config_text_effective(const struct config *cfg);

#endif
