/*
 * The product behind scoring: weights that are packed once for a head, times a tile of records
 * whose activations are laid out [unit][row], so that rows lie along the vector lanes. Each row
 * takes the same additions in the same order, whatever stands beside it: a record's scores do not
 * depend on its batch, to the last bit.
 *
 * There is one kernel for each width of vector unit; the processor is asked once. Columns of a
 * weight matrix are packed in blocks of `units`, and the last ones in blocks of NETWORK_FEW, each
 * block [in][columns]; a matrix is filled up with columns of 0. Private to core.
 */
#ifndef CORE_NETWORK_KERNEL_H
#define CORE_NETWORK_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETWORK_MAX_TILE 32u
#define NETWORK_MAX_UNITS 12u
#define NETWORK_FEW 4u
#define NETWORK_MAX_CHUNK 64u

/* z [columns][rows] = sum over u of w [u][column] a [u][rows], added to bias [columns], or to z
 * when bias is NULL. All are aligned to 64 bytes. */
typedef void network_block_fn(const float *w, uint32_t in, const float *a, const float *bias,
                              float *z);

/* A network with one hidden layer and few classes, and a direction of its parameters: what records
 * given as lists take, one by one. Aligned to 64 bytes, as all that the kernels read. */
struct network_shallow {
    uint32_t in, hidden, classes; /* hidden: whole chunks; classes: up to NETWORK_FEW */
    bool paired;                  /* the direction has a first layer G beside W */
    /* [hidden / chunk][in] rows of a chunk of W's columns, and when paired those of G behind them;
     * and [hidden / chunk] such rows of the biases. */
    const float *rows, *bias;
    const float *w, *g;           /* [classes][hidden] of the outputs */
    const float *w_bias, *g_bias; /* [classes] */
};

/* The first of trees that lie one behind the other (fis/trees.h): 2^depth - 1 tests in the order of
 * a heap, and leaves. */
struct network_test {
    uint32_t feature;
    float threshold;
};
struct network_tree {
    uint32_t tests;
    const struct network_test *test;
    const float *leaf;
};
#define NETWORK_TREE_DEPTH 6u

struct network_kernel {
    uint32_t rows;  /* of a tile */
    uint32_t units; /* columns of a block */
    uint32_t chunk; /* columns of a block of `sparse` */
    network_block_fn *block, *few;
    /* The values of x [in] that are not 0, and where they are: how many. index and value have room
     * for in + 16. */
    uint32_t (*others)(const float *x, uint32_t in, uint32_t *index, float *value);
    /* A tile of records given by their nonzero entries: row i has value[k] at index[k] for k in
     * [from[i], from[i + 1]). Columns [first, end) of z [columns][rows] = bias [columns] + sum of
     * value[k] times row index[k] of w, with the same additions in the same order as `block` has
     * them. w: a block [in][chunk] for each `chunk` columns. first, end: multiples of chunk, and
     * all is aligned to 64 bytes. */
    void (*sparse)(const float *w, uint32_t in, uint32_t first, uint32_t end, const uint32_t *from,
                   const uint32_t *index, const float *value, const float *bias, float *z);
    /* Such a tile to the logits z [NETWORK_FEW][rows] and the tangents dz, likewise; NULL: not
     * requested. */
    void (*shallow)(const struct network_shallow *s, const uint32_t *from, const uint32_t *index,
                    const float *value, float *z, float *dz);
    /* The outputs of one hidden layer, with the same additions in the same order as shallow has
     * them: z [NETWORK_FEW][rows] = G a + bias, and + W da when da is not NULL. */
    void (*output)(const float *g, const float *a, const float *w, const float *da, uint32_t in,
                   const float *bias, float *z);
    /* x [rows][in] to a [in][rows]. */
    void (*transpose)(const float *x, uint32_t in, float *a);
    /* z [1 + slots][stride][rows], `units` of them in use: da = [z > 0] dz, a = max(z, 0). */
    void (*relu)(float *z, uint32_t units, uint32_t stride, uint32_t slots);
    /* z [classes][rows]: logits to probabilities. */
    void (*softmax)(float *z, uint32_t classes);
    /* Tangents s [classes][rows] to s_k - p.s. */
    void (*centre)(const float *p, float *s, uint32_t classes);
    /* p, acc, fair [classes][rows]: gain [rows] = - sum of p fair over the classes where acc and
     * fair are <= 0, entropy [rows] = - sum of p log p. */
    void (*criteria)(const float *p, const float *acc, const float *fair, uint32_t classes,
                     float *gain, float *entropy);
    /* n trees, of NETWORK_TREE_DEPTH at most, add their leaves to sums [margins][rows], each to the
     * next margin's, for a tile a [features][rows]. */
    void (*trees)(struct network_tree first, uint32_t n, uint32_t margins, const float *a,
                  float *sums);
};

/* The kernels that this processor can run, the widest first; NULL behind the last. */
const struct network_kernel *network_kernel(uint32_t nth);

/* Columns that `out` ones take up when packed. */
uint32_t network_kernel_columns(const struct network_kernel *k, uint32_t out);
/* w [in][out] to blocks; `to` has room for in * columns. */
void network_kernel_pack(const struct network_kernel *k, const float *w, uint32_t in, uint32_t out,
                         float *to);
/* z = W a + bias (or + z), W packed. */
void network_kernel_run(const struct network_kernel *k, const float *w, uint32_t in, uint32_t out,
                        const float *a, const float *bias, float *z);

#endif
