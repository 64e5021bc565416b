#include "kit/core/fitted.h"

const struct fis_column fitted_columns[] = {
    {.name = "age", .type = FIS_NUMERIC, .scale = FIS_SCALE_STANDARD},
    {.name = "job", .type = FIS_CATEGORICAL},
    {.name = "flag", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "hours", .type = FIS_NUMERIC, .scale = FIS_SCALE_STANDARD},
};

const struct fis_value fitted_rows[][FITTED_COLUMNS] = {
    {{.kind = FIS_VALUE_NUMBER, .number = 30},
     {.kind = FIS_VALUE_TEXT, .text = "nurse", .length = 5},
     {.kind = FIS_VALUE_NUMBER, .number = 1},
     {.kind = FIS_VALUE_NUMBER, .number = 40}},
    {{.kind = FIS_VALUE_NUMBER, .number = 50},
     {.kind = FIS_VALUE_TEXT, .text = "clerk", .length = 5},
     {.kind = FIS_VALUE_NUMBER, .number = 0},
     {.kind = FIS_VALUE_MISSING}},
    {{.kind = FIS_VALUE_NUMBER, .number = 40},
     {.kind = FIS_VALUE_TEXT, .text = "nurse", .length = 5},
     {.kind = FIS_VALUE_MISSING},
     {.kind = FIS_VALUE_NUMBER, .number = 40}},
};

struct fis_encoder *fitted_encoder(struct fis_error *e)
{
    struct fis_encoder *enc = fis_encoder_new(fitted_columns, FITTED_COLUMNS, 10, e);
    for (size_t i = 0; enc && i < sizeof fitted_rows / sizeof *fitted_rows; i++)
        if (fis_encoder_observe(enc, fitted_rows[i], e))
            goto fail;
    if (enc && fis_encoder_finish(enc, e))
        goto fail;
    return enc;
fail:
    fis_encoder_free(enc);
    return NULL;
}
