/* The tag Orientation of EXIF, which is a TIFF's first directory. */
#include <string.h>

#include "image_impl.h"

#define ORIENTATION 0x0112
#define SHORT 3

struct tiff {
    const unsigned char *bytes;
    size_t length;
    bool big;
};

static uint32_t number(const struct tiff *t, size_t at, int bytes)
{
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint32_t)t->bytes[at + (size_t)i] << 8 * (t->big ? bytes - 1 - i : i);
    return v;
}

int image_orientation(const unsigned char *tiff, size_t length)
{
    struct tiff t = {tiff, length, length > 0 && tiff[0] == 'M'};
    if (length < 8 || (memcmp(tiff, "II*\0", 4) && memcmp(tiff, "MM\0*", 4)))
        return IMAGE_UPRIGHT;
    size_t at = number(&t, 4, 4);
    if (at > length - 2)
        return IMAGE_UPRIGHT;
    uint32_t entries = number(&t, at, 2);
    at += 2;
    for (; entries && length - at >= 12; entries--, at += 12) {
        if (number(&t, at, 2) != ORIENTATION || number(&t, at + 2, 2) != SHORT)
            continue;
        uint32_t v = number(&t, at + 8, 2);
        return v >= 1 && v <= 8 ? (int)v : IMAGE_UPRIGHT;
    }
    return IMAGE_UPRIGHT;
}
