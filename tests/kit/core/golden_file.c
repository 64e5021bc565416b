#include "kit/core/golden_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void golden_free(struct golden *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        free(g->entry[i].v);
    free(g);
}

struct golden *golden_read(const char *path)
{
    struct golden *g = calloc(1, sizeof *g);
    FILE *f = fopen(path, "r");
    int fine = g && f, got = 2;
    while (fine && g->n < GOLDEN_ENTRIES) {
        struct golden_entry *e = &g->entry[g->n];
        if ((got = fscanf(f, "%39s %u", e->name, &e->count)) != 2)
            break;
        e->v = calloc(e->count + 1, sizeof *e->v);
        g->n++;
        for (uint32_t i = 0; fine && i < e->count; i++)
            fine = e->v && fscanf(f, "%lf", &e->v[i]) == 1;
    }
    if (f)
        fclose(f);
    if (fine && got == EOF && g->n)
        return g;
    fprintf(stderr, "%s: cannot be read (tests run in the top directory)\n", path);
    if (g)
        golden_free(g);
    return NULL;
}

const struct golden_entry *golden_find(const struct golden *g, uint32_t from, const char *name)
{
    for (uint32_t i = from; i < g->n; i++)
        if (strcmp(g->entry[i].name, name) == 0)
            return &g->entry[i];
    return NULL;
}
