/* Columns that are the numbers of an image. */
#include "encoder_impl.h"

int fis_encoder_expect_image(struct fis_encoder *enc, const struct fis_encoder_image *image,
                             struct fis_error *e)
{
    const uint64_t rows = (uint64_t)image->height * image->width;
    bool fits = rows && rows <= enc->n && image->channels && rows * image->channels == enc->n;
    for (uint32_t i = 0; fits && i < enc->n; i++)
        fits = enc->columns[i].pub.type == FIS_NUMERIC &&
               enc->columns[i].pub.scale == FIS_SCALE_STANDARD;
    if (!fits)
        return fis_fail(e, FIS_INPUT,
                        "encoder: %u columns; an image of %u x %u x %u has as many numbers, all "
                        "standardised",
                        enc->n, image->height, image->width, image->channels);
    enc->image = *image;
    return 0;
}

const struct fis_encoder_image *fis_encoder_image(const struct fis_encoder *enc)
{
    return enc->image.height ? &enc->image : NULL;
}

void encoder_image_pool(struct fis_encoder *enc)
{
    const uint32_t channels = enc->image.channels;
    for (uint32_t first = 0; first < channels; first++) {
        double n = 0, sum = 0, squares = 0;
        for (uint32_t i = first; i < enc->n; i += channels) {
            n += (double)enc->columns[i].present;
            sum += (double)enc->columns[i].present * enc->columns[i].mean;
        }
        const double mean = n > 0 ? sum / n : 0;
        for (uint32_t i = first; i < enc->n; i += channels) {
            const struct encoder_column *c = &enc->columns[i];
            squares += c->squares + (double)c->present * (c->mean - mean) * (c->mean - mean);
        }
        /* One shade alone says nothing of how far others are from it: they keep their distance. */
        if (squares <= n * ENCODER_PRECISION)
            squares = n;
        for (uint32_t i = first; i < enc->n; i += channels) {
            struct encoder_column *c = &enc->columns[i];
            c->mean = mean;
            c->squares = n > 0 ? squares / n : 1;
            c->present = 1; /* finish takes squares / present for the variance */
        }
    }
}
