#include "base/likeness.h"

#include <stdint.h>
#include <string.h>

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t likeness_edits(const char *a, const char *b)
{
    size_t row[3][LIKENESS_MAX + 1], la = strlen(a), lb = strlen(b);
    if (la > LIKENESS_MAX || lb > LIKENESS_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t *now = row[i % 3], *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t change = before[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least_of(change, least_of(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least_of(now[j], older[j - 2] + 1);
        }
    }
    return row[la % 3][lb];
}

size_t likeness_limit(const char *name)
{
    return 2 + strlen(name) / 3;
}
