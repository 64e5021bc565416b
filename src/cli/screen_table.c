#include "cli/screen.h"

#include <string.h>

#include "fis/mem.h"

void screen_table_init(struct screen_table *t, const char *const *headings, uint32_t columns)
{
    *t = (struct screen_table){.columns = columns < SCREEN_COLUMNS ? columns : SCREEN_COLUMNS};
    screen_table_row(t);
    for (uint32_t i = 0; i < t->columns; i++) {
        t->right[i] = headings[i][0] == '>';
        screen_table_cell(t, i, "%s", headings[i] + t->right[i]);
    }
}

void screen_table_row(struct screen_table *t)
{
    if (!fis_more(&t->cells, t->rows, t->columns * sizeof *t->cells)) {
        t->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < t->columns; i++)
        t->cells[(size_t)t->rows * t->columns + i][0] = 0;
    t->rows++;
}

void screen_table_cell(struct screen_table *t, uint32_t column, const char *format, ...)
{
    va_list ap;
    if (t->no_memory || column >= t->columns)
        return;
    char *cell = t->cells[(size_t)(t->rows - 1) * t->columns + column];
    va_start(ap, format);
    vsnprintf(cell, SCREEN_CELL, format, ap);
    va_end(ap);
    /* A cell cut inside a character would be no UTF-8 any more. */
    size_t n = strlen(cell);
    while (n == SCREEN_CELL - 1 && n > 0 && ((unsigned char)cell[n - 1] & 0xc0) == 0x80)
        cell[--n] = 0;
    if (n > 0 && ((unsigned char)cell[n - 1] & 0xc0) == 0xc0)
        cell[n - 1] = 0;
}

static void print_row(const struct screen_table *t, uint32_t row, const size_t *width, FILE *out)
{
    size_t owed = 0; /* spaces, written only when something follows */
    for (uint32_t i = 0; i < t->columns; i++) {
        const char *cell = t->cells[(size_t)row * t->columns + i];
        size_t w = screen_width(cell), fill = width[i] - w;
        if (t->right[i])
            owed += fill;
        if (w) {
            fprintf(out, "%*s%s", (int)owed, "", cell);
            owed = 0;
        }
        owed += (t->right[i] ? 0 : fill) + 2;
    }
    fputc('\n', out);
}

int screen_table_print(struct screen_table *t, FILE *out)
{
    size_t width[SCREEN_COLUMNS] = {0};
    int rc = t->no_memory ? -1 : 0;
    for (uint32_t r = 0; !rc && r < t->rows; r++)
        for (uint32_t i = 0; i < t->columns; i++) {
            size_t w = screen_width(t->cells[(size_t)r * t->columns + i]);
            width[i] = w > width[i] ? w : width[i];
        }
    for (uint32_t r = 0; !rc && r < t->rows; r++)
        print_row(t, r, width, out);
    fis_free(t->cells);
    *t = (struct screen_table){0};
    return rc;
}
