/* Means over seeds with Student's t. */
#include <math.h>

#include "lab/report.h"

/* The quantile of .975 for 1 to 30 degrees of freedom; beyond, Cornish and Fisher's expansion to
 * the second order (right to .0005). */
static double quantile(uint32_t freedom)
{
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                   2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                   2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                   2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    const double z = 1.959964, n = freedom;
    if (freedom <= sizeof table / sizeof *table)
        return table[freedom - 1];
    return z + (pow(z, 3) + z) / (4 * n) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n);
}

void lab_stat_of(const double *values, uint32_t n, struct lab_stat *out)
{
    double mean = 0, square = 0;
    for (uint32_t i = 0; i < n; i++)
        mean += values[i] / n;
    for (uint32_t i = 0; i < n; i++)
        square += (values[i] - mean) * (values[i] - mean);
    *out = (struct lab_stat){.n = n, .mean = n ? mean : NAN, .std = NAN, .low = NAN, .high = NAN};
    if (n < 2)
        return;
    out->std = sqrt(square / (n - 1));
    double half = quantile(n - 1) * out->std / sqrt(n);
    out->low = mean - half;
    out->high = mean + half;
}
