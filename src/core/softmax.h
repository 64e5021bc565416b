/* Softmax and cross-entropy of one row, in double; private to core. */
#ifndef CORE_SOFTMAX_H
#define CORE_SOFTMAX_H

#include <stdint.h>

#include "fis/network.h"

/* p [K] from logits [K]; returns the cross-entropy at `label`. Finite for finite logits. */
double softmax_row(const float *logits, uint32_t classes, uint32_t label, double *p);

#endif
