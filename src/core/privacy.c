/* What noise buys: from rho to (epsilon, delta). */
#include "fis/privacy.h"

#include <math.h>
#include <string.h>

#include "base/chacha.h"

/* The logarithm of the normal distribution's tail beyond x. Where erfc is no more, the first terms
 * of its expansion. */
static double log_tail(double x)
{
    if (x < 25)
        return log(.5 * erfc(x / sqrt(2)));
    return -x * x / 2 - log(x) - .5 * log(2 * 3.14159265358979323846) - 1 / (x * x);
}

/* Balle and Wang, Theorem 8, with mu = sensitivity over deviation:
 * delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). */
double fis_privacy_delta(double rho, double epsilon)
{
    if (!(rho > 0))
        return 0;
    double mu = sqrt(2 * rho), a = log_tail(epsilon / mu - mu / 2);
    double b = epsilon + log_tail(epsilon / mu + mu / 2);
    return b < a ? exp(a) * -expm1(b - a) : 0;
}

double fis_privacy_epsilon(double rho, double delta)
{
    double low = 0, high = 1;
    if (!(rho > 0) || fis_privacy_delta(rho, 0) <= delta)
        return 0;
    if (!isfinite(rho))
        return (double)INFINITY;
    while (fis_privacy_delta(rho, high) > delta)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        double mid = (low + high) / 2;
        if (fis_privacy_delta(rho, mid) > delta)
            low = mid;
        else
            high = mid;
    }
    return high;
}

double fis_privacy_rho(double noise)
{
    return FIS_PRIVACY_RELEASES / (2 * noise * noise);
}

void fis_privacy_key(const char *secret, size_t length, unsigned char key[FIS_PRIVACY_KEY])
{
    memset(key, 0, FIS_PRIVACY_KEY);
    chacha_absorb(key, secret, length);
}
