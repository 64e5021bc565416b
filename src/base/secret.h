/*
 * Names whose values are never shown, in a log, an error or a printed configuration: those with
 * password, secret, key, token, credential, jaas or oauthbearer in them, in any case.
 * Thread: safe.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>

bool secret_name(const char *name);
/* Whether the value is a secret itself, not the place of one: a password, a secret, a key in PEM. */
bool secret_value(const char *name);

#endif
