/*
 * Names whose values are never shown, in a log, an error or a printed configuration: those with
 * password, secret, key, token, credential, jaas or oauthbearer in them, in any case.
 * Thread: safe.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>

bool secret_name(const char *name);

#endif
