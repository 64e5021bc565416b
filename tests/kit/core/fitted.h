/* An encoder that is fitted to four rows. */
#ifndef TEST_KIT_FITTED_H
#define TEST_KIT_FITTED_H

#include <float.h>
#include <math.h>

#include "fis/encoder.h"
#include "fis/mem.h"
#include "fis/profile.h"
#include "fis/rng.h"
#include "kit/cmocka.h"

#define FITTED_NUMBER(v) ((struct fis_value){.kind = FIS_VALUE_NUMBER, .number = (v)})

extern const struct fis_column fitted_columns[];

enum { FITTED_COLUMNS = 4, FITTED_D = 1 + 4 + 1 + 2 }; /* hours was missing once; two jobs */

extern const struct fis_value fitted_rows[][FITTED_COLUMNS];

struct fis_encoder *fitted_encoder(struct fis_error *e);

#endif
