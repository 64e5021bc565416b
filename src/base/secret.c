#include "base/secret.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static bool has_one(const char *name, const char *const *marks)
{
    for (; *marks; marks++)
        for (const char *p = name; *p; p++)
            if (strncasecmp(p, *marks, strlen(*marks)) == 0)
                return true;
    return false;
}

bool secret_name(const char *name)
{
    static const char *const marks[] = {"password",   "secret", "key",         "token",
                                        "credential", "jaas",   "oauthbearer", NULL};
    return has_one(name, marks);
}

bool secret_value(const char *name)
{
    static const char *const marks[] = {"password",           "secret", "jaas", "ssl.key.pem",
                                        "oauthbearer.config", NULL};
    return has_one(name, marks);
}
