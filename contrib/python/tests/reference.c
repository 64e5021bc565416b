/*
 * The reference that the Python package is compared with: libfis, through its public headers.
 *
 * Standard input, native endianness: columns; for each its name, type, scale, mean, deviation,
 * indicator and categories; margins, depth and number of its trees, with their features, thresholds
 * and leaves; the widths of the network, the nine sizes of its transformer (of height 0: none) and
 * its parameters; rows; for each cell its
 * kind and number or text. Standard output: for each row d features and K logits, float32.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fis/encoder.h"
#include "fis/network.h"

static void get(void *to, size_t bytes)
{
    if (bytes && fread(to, 1, bytes, stdin) != bytes) {
        fputs("reference: the input ends early\n", stderr);
        exit(1);
    }
}

static uint32_t number(void)
{
    uint32_t n;
    get(&n, sizeof n);
    return n;
}

static double real(void)
{
    double x;
    get(&x, sizeof x);
    return x;
}

static char *text(uint32_t *length)
{
    uint32_t n = number();
    char *s = calloc(n + 1, 1);
    get(s, n);
    if (length)
        *length = n;
    return s;
}

static void check(int good, const struct fis_error *e)
{
    if (good)
        return;
    fprintf(stderr, "reference: %s\n", e->text);
    exit(1);
}

static struct fis_encoder *read_encoder(struct fis_error *e)
{
    uint32_t n = number();
    struct fis_encoder_column_state *s = calloc(n, sizeof *s);
    for (uint32_t i = 0; i < n; i++) {
        s[i].column.name = text(NULL);
        s[i].column.type = (enum fis_column_type)number();
        s[i].column.scale = (enum fis_column_scale)number();
        if (!s[i].column.scale)
            s[i].column.scale = FIS_SCALE_NONE;
        s[i].mean = real();
        s[i].deviation = real();
        s[i].missing_indicator = number() != 0;
        s[i].n_categories = number();
        const char **categories = calloc(s[i].n_categories + 1, sizeof *categories);
        for (uint32_t k = 0; k < s[i].n_categories; k++)
            categories[k] = text(NULL);
        s[i].categories = categories;
    }
    struct fis_trees_shape shape = {.margins = number()};
    shape.depth = number();
    shape.n = number();
    struct fis_encoder *encoder = fis_encoder_over_trees(s, n, shape.margins, e);
    if (!encoder || !shape.margins)
        return encoder;
    shape.d = fis_encoder_dimension(encoder) - shape.margins;
    size_t nodes = fis_trees_nodes(&shape), leaves = fis_trees_leaf_count(&shape);
    uint32_t *feature = calloc(nodes, sizeof *feature);
    float *threshold = calloc(nodes, sizeof *threshold), *leaf = calloc(leaves, sizeof *leaf);
    get(feature, nodes * sizeof *feature);
    get(threshold, nodes * sizeof *threshold);
    get(leaf, leaves * sizeof *leaf);
    check(!fis_encoder_set_trees(encoder, fis_trees_new(&shape, feature, threshold, leaf, e), e), e);
    return encoder;
}

int main(void)
{
    struct fis_error e = {0};
    struct fis_encoder *encoder = read_encoder(&e);
    check(encoder != NULL, &e);
    uint32_t widths = number(), *width = calloc(widths, sizeof *width);
    get(width, widths * sizeof *width);
    struct fis_shape shape;
    check(!fis_shape_init(&shape, width[0], width + 1, widths - 2, width[widths - 1], &e), &e);
    check(!fis_shape_set_margins(&shape, fis_encoder_margins(encoder), &e), &e);
    uint32_t size[9];
    get(size, sizeof size);
    const struct fis_vit vit = {size[0], size[1], size[2], size[3],     size[4],
                                size[5], size[6], size[7], size[8] != 0};
    check(!vit.height || !fis_shape_set_vit(&shape, &vit, &e), &e);
    float *params = calloc(fis_shape_params(&shape), sizeof *params);
    get(params, fis_shape_params(&shape) * sizeof *params);
    uint32_t n = number(), columns = fis_encoder_columns(encoder), k = width[widths - 1];
    const uint32_t d = fis_shape_inputs(&shape);
    float *x = calloc(d, sizeof *x), *logits = calloc(k, sizeof *logits);
    struct fis_value *row = calloc(columns, sizeof *row);
    struct fis_scratch *scratch = fis_scratch_new(&shape, 1, 0);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t c = 0; c < columns; c++) {
            row[c] = (struct fis_value){.kind = (enum fis_value_kind)number()};
            if (row[c].kind == FIS_VALUE_NUMBER)
                row[c].number = real();
            uint32_t length = 0;
            if (row[c].kind == FIS_VALUE_TEXT)
                row[c].text = text(&length);
            row[c].length = length;
        }
        check(!fis_encoder_encode(encoder, row, x, NULL, &e), &e);
        fis_network_forward(&shape, params, x, 1, scratch, logits);
        fwrite(x, sizeof *x, d, stdout);
        fwrite(logits, sizeof *logits, k, stdout);
    }
    return 0;
}
