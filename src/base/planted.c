#include "base/planted.h"

#include <string.h>

#ifdef FIS_PLANTED
enum planted planted_now = PLANTED_none;

#define NAME(name) #name,
static const char *const names[] = {FIS_PLANTED_FAULTS(NAME)};

int planted_choose(const char *name)
{
    for (uint32_t i = 1; i < PLANTED_FAULTS; i++)
        if (strcmp(names[i], name) == 0) {
            planted_now = (enum planted)i;
            return 0;
        }
    return -1;
}

const char *planted_name(uint32_t i)
{
    return names[i];
}

uint32_t planted_count(void)
{
    return PLANTED_FAULTS;
}
#else
int planted_choose(const char *name)
{
    (void)name;
    return -1;
}

const char *planted_name(uint32_t i)
{
    (void)i;
    return "none";
}

uint32_t planted_count(void)
{
    return 1;
}
#endif
