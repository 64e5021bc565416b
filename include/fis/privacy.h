/*
 * Differential privacy of the directions that heads carry.
 *
 * What is protected: one example of the validation set, replaced by any other (features, class and
 * group). How many examples there are, which groups and classes exist, and everything that the gate
 * measures and publishes, is taken as known: (epsilon, delta) is of the directions, and of all that
 * is worked out from them. docs/threat-model.md says what that means.
 *
 * How: directions with noise are those of the last layer alone, where the gradient of an example is
 * an outer product, so that its length is known without forming it. A refresh makes three releases
 * from n rows, each with normal noise of `noise` times its sensitivity D (the most by which
 * replacing one example moves it, as a Euclidean length):
 *
 *   1 of every cell the sum of the quantity (a probability, or a loss cut off at 4) and the count,
 *     as one vector.                                       D = sqrt(2 + 2) = 2, the loss in units
 * of 4 2 (1/n) sum of the examples' gradients of the cross-entropy, each cut off at length C. D = 2
 * C / n 3 sum of the examples' gradients of phi with the cells' weights u as released in 1, each
 * cut off at C |u|, |u| being the length of its cell's weights.             D = 2 C max |u|
 *
 * Each is the Gaussian mechanism, rho = 1 / (2 noise^2) in zCDP (Bun and Steinke, 2016); a refresh
 * costs three of them. Cross-fit's halves are dealt by place alone, so an example is in one half
 * and pays once, and the head's directions are the halves' mean. Compositions of Gaussian
 * mechanisms are as private as one of the same rho in all (Dong, Roth and Su, 2019), whose exact
 * (epsilon, delta) is that of Balle and Wang (2018).
 *
 * Noise comes from ChaCha20 under a key that nobody else knows, by the number of the refresh and a
 * fingerprint of what went in. So the same refresh made again after a restart is the same to the
 * bit and reveals nothing new, and two different ones never share noise. With another key the
 * refresh is another release, and charged.
 *
 * Not covered: noise is added as floating point numbers and not on a lattice (Mironov, 2012).
 */
#ifndef FIS_PRIVACY_H
#define FIS_PRIVACY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIS_PRIVACY_KEY 32
#define FIS_PRIVACY_RELEASES 3 /* of a refresh */

struct fis_privacy {
    double noise; /* deviation of the noise, in sensitivities; above 0 */
    double clip;  /* C, above 0 */
    unsigned char key[FIS_PRIVACY_KEY];
};

/* What was spent. A plain value: its keeper hands it back after a restart. */
struct fis_privacy_account {
    uint64_t refreshes; /* with noise, that were charged */
    uint64_t exact;     /* without: then no epsilon holds */
    double rho;         /* zCDP of those with noise, together */
    uint64_t tag;       /* keyed fingerprint of the newest */
};

/* The exact pair of a Gaussian mechanism with this rho: epsilon for delta in (0, 1), or delta for
 * epsilon >= 0. rho 0: 0. */
double fis_privacy_epsilon(double rho, double delta);
double fis_privacy_delta(double rho, double epsilon);
double fis_privacy_rho(double noise); /* of one refresh */

/* A key from a secret text. The text must be hard to guess. */
void fis_privacy_key(const char *secret, size_t length, unsigned char key[FIS_PRIVACY_KEY]);

#ifdef __cplusplus
}
#endif

#endif
