#include "core/network_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define EACH_OF_4(X) X(0) X(1) X(2) X(3)
#define EACH_OF_6(X) EACH_OF_4(X) X(4) X(5)
#define EACH_OF_12(X) EACH_OF_6(X) X(6) X(7) X(8) X(9) X(10) X(11)

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

/* Elements of two vectors, by place. */
#define PICK __builtin_shufflevector
/* Places that are the same in each four of a vector's elements. */
#define FOURS_4(a, b, c, d) a, b, c, d
#define FOURS_8(a, b, c, d) a, b, c, d, a + 4, b + 4, c + 4, d + 4
#define FOURS_16(a, b, c, d)                                                                       \
    FOURS_8(a, b, c, d), a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, d + 12

#if defined(__clang__) /* the fuzzers are built with it */
#define WIDEST ""
#else
#define WIDEST ",prefer-vector-width=512"
#endif

#if defined(__x86_64__)
#define LANES 16
#define UNITS 12
#define EACH_UNIT EACH_OF_12
#define TARGET __attribute__((target("avx512f,avx512vl,avx2,fma" WIDEST)))
#include "core/network_kernel.inc"

#define LANES 8
#define UNITS 6
#define EACH_UNIT EACH_OF_6
#define TARGET __attribute__((target("avx2,fma")))
#include "core/network_kernel.inc"
#endif

#define LANES 4
#define UNITS 6
#define EACH_UNIT EACH_OF_6
#define TARGET
#include "core/network_kernel.inc"

#define KERNEL(lanes, columns)                                                                     \
    {                                                                                              \
        .rows = 2 * (lanes), .units = (columns), .chunk = 4 * (lanes), .block = block##lanes,      \
        .few = few##lanes, .others = others##lanes, .sparse = sparse##lanes,                       \
        .shallow = shallow##lanes, .output = output##lanes, .transpose = transpose##lanes,         \
        .relu = relu##lanes, .softmax = softmax##lanes, .centre = centre##lanes,                   \
        .criteria = criteria##lanes, .trees = trees##lanes                                         \
    }
static const struct network_kernel kernels[] = {
#if defined(__x86_64__)
    KERNEL(16, 12),
    KERNEL(8, 6),
#endif
    KERNEL(4, 6),
};

static bool works_here(const struct network_kernel *k)
{
#if defined(__x86_64__)
    if (k->rows == 32)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
    if (k->rows == 16)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return k->rows == 8;
}

const struct network_kernel *network_kernel(uint32_t nth)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (works_here(&kernels[i]) && nth-- == 0)
            return &kernels[i];
    return NULL;
}

/* What comes next: a block of `units`, or a few. */
static uint32_t block_of(const struct network_kernel *k, uint32_t left)
{
    return left + NETWORK_FEW > k->units ? k->units : NETWORK_FEW;
}

uint32_t network_kernel_columns(const struct network_kernel *k, uint32_t out)
{
    uint32_t columns = 0;
    while (columns < out)
        columns += block_of(k, out - columns);
    return columns;
}

void network_kernel_pack(const struct network_kernel *k, const float *w, uint32_t in, uint32_t out,
                         float *to)
{
    for (uint32_t j = 0, n; j < out; j += n) {
        n = block_of(k, out - j);
        for (uint32_t u = 0; u < in; u++)
            for (uint32_t c = 0; c < n; c++)
                *to++ = j + c < out ? w[(size_t)u * out + j + c] : 0;
    }
}

void network_kernel_run(const struct network_kernel *k, const float *w, uint32_t in, uint32_t out,
                        const float *a, const float *bias, float *z)
{
    for (uint32_t j = 0, n; j < out; j += n) {
        n = block_of(k, out - j);
        network_block_fn *run = n == k->units ? k->block : k->few;
        run(w, in, a, bias ? bias + j : NULL, z + (size_t)j * k->rows);
        w += (size_t)in * n;
    }
}
