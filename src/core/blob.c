#include "core/blob.h"

#include <math.h>

bool blob_floats_finite(const unsigned char *bytes, size_t n)
{
    int finite = 1;
    for (size_t i = 0; i < n; i++) {
        float v;
        memcpy(&v, bytes + i * sizeof v, sizeof v);
        finite &= isfinite(v) != 0;
    }
    return finite;
}
