/*
 * A configuration that is being read; for the files of this layer only.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include <libfyaml.h>

#include "config/option.h"

struct load {
    const char *name; /* of the file, for messages */
    struct config *cfg;
    config_look_fn *look; /* NULL: nobody looks at what it names */
    struct fy_diag *diag; /* libfyaml's complaints and the places of its nodes */
    struct config_problems problems;
    uint32_t apart; /* of the problems, those of sections that the files do not depend on */
    bool no_memory;
    bool defaults; /* reading the defaults: nothing is required of them */
    /* By index in config_options: what the file gave, NULL where it is silent. */
    struct fy_node *key[OPTIONS_MAX], *value[OPTIONS_MAX];
    struct fy_node *section[OPTIONS_MAX]; /* key of the section, at its first option's index */
};

/* A place in the file, in words and as a node. */
struct spot {
    const struct option *option; /* NULL for what is no option */
    char path[320];              /* "columns[3].name"; empty: the whole file */
    struct fy_node *node;        /* what the problem is about; NULL: something that is absent */
    struct fy_node *near;        /* its key, or what it should stand in; NULL: the whole file */
    bool secret;                 /* never show the value */
};

/* Notes "key 'path': found …, allowed …" at the place. */
void load_problem(struct load *l, const struct spot *at, const char *found, const char *allowed);
/* The same, where `text` is "found …, allowed …". */
void load_say(struct load *l, const struct spot *at, const char *text);
/* The same, where `allowed` is what the option's entry says. */
void load_refuse(struct load *l, const struct spot *at, const char *found);
/* What stands at the place, as written: 'text', a list, a mapping, nothing. */
#define FOUND_MAX 96
void load_describe(const struct spot *at, char *out, size_t size);
void load_refuse_node(struct load *l, const struct spot *at);
/* The same, for what an earlier item of a list or mapping was already. */
void load_refuse_twice(struct load *l, const struct spot *at);
/* "at": line and column from 1; what is no matter of a key. */
void load_note(struct load *l, int line, int column, const char *text);

/* An option's place in the file; `item` >= 0 is that item of its list. */
struct spot load_spot(const struct load *l, const char *key, int item);
bool load_given(const struct load *l, const char *key);

/* Follows an alias to what it stands for; NULL when that does not exist. */
struct fy_node *load_target(struct fy_node *node);

/* The text of a scalar, ${NAME} replaced, as a new string; NULL when refused (and noted). */
char *load_text(struct load *l, const struct spot *at);

/* "file:…" and "credential:…" (secret_file.c): what stands there, as a new string for
 * config_free_secret; NULL when refused (and noted). Nothing of it is in what is noted. */
bool load_is_reference(const char *text);
char *load_reference(struct load *l, const struct spot *at, const char *text);
/* The same for a text of the file `name`, beside which a relative path lies; of a key that takes a
 * path, that path. INPUT "found …, allowed …", NOMEM. */
int secret_read(const char *name, const char *key, const char *text, char **out,
                struct fis_error *e) FIS_MUST_CHECK;
/* The value of a key that takes a path, which is `text` or replaces it: a relative path starts at
 * the directory of the configuration, wherever the program runs; "file:" before it, as a secret has
 * it, changes nothing. NULL without memory. Other values stay as they are. */
char *load_path(struct load *l, const char *key, char *text);

/* Takes the value at the place into `base` (a struct config, or one of a list of items). */
void load_value(struct load *l, const struct spot *at, void *base);
void load_items(struct load *l, const struct spot *at, struct config_items *out);
void load_properties(struct load *l, const struct spot *at, struct config_properties *out);

/* The place of a key of a mapping: its path is `prefix` and the key. False when the key is no
 * plain name (noted). */
bool load_key(struct load *l, const char *prefix, struct fy_node *key, struct spot *out);
/* Notes a key that does not exist; `key` is its place, with the general form of its path. */
void load_unknown(struct load *l, const struct spot *at, const char *key);

/* Takes the document's mapping of sections and options. */
void load_root(struct load *l, struct fy_node *root);

/* Notes what is needed and absent. */
void load_required(struct load *l);
/* Settles what depends on other options and checks them against each other. */
void load_check(struct load *l);
void load_check_columns(struct load *l); /* of it: what each column is */
void load_check_labels(struct load *l); /* of it: the labelling page */
void load_check_registry(struct load *l);
/* Two options that go together. */
void load_check_pair(struct load *l, const char *one, bool has_one, const char *other,
                     bool has_other);
bool load_is_http(const char *url); /* its scheme is http or https */

#endif
