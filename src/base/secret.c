#include "base/secret.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

bool secret_name(const char *name)
{
    static const char *const marks[] = {"password",   "secret", "key",        "token",
                                        "credential", "jaas",   "oauthbearer"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t n = strlen(marks[i]);
        for (const char *p = name; *p; p++)
            if (strncasecmp(p, marks[i], n) == 0)
                return true;
    }
    return false;
}
