/*
 * Images of tasks, with the table of their labels and groups: a byte a number, for as many tasks as
 * there are on them. They become floats row by row, when a run looks at them (lab/split.h).
 *
 * Errors name the file, and its line where it has lines.
 * Thread: immutable once read. Owns: everything.
 */
#ifndef LAB_IMAGES_H
#define LAB_IMAGES_H

#include "data/table.h"
#include "fis/network.h"

enum lab_part { LAB_TRAINING, LAB_VALIDATION, LAB_TEST };

struct lab_images {
    uint32_t n, height, width, channels;
    unsigned char *pixels;    /* [n][height][width][channels] */
    uint8_t *part;            /* [n] enum lab_part; NULL: a run draws them */
    struct data_table *table; /* [n] rows; NULL: of a file of its own */
};
static inline uint32_t lab_images_numbers(const struct lab_images *i)
{
    return i->height * i->width * i->channels;
}
void lab_images_free(struct lab_images *i); /* NULL is fine */

/* Bytes alone, n images of the size of v. INPUT: not as many bytes as they are. */
struct lab_images *lab_images_pixels(const char *path, uint32_t n, const struct fis_vit *v,
                                     struct fis_error *e) FIS_MUST_CHECK;

/*
 * CelebA's own layout: FOLDER/img_align_celeba/NAME.jpg, FOLDER/list_attr_celeba.txt (a count, a
 * line of names, then a line an image: its name, and 1 or -1 for each) and
 * FOLDER/list_eval_partition.txt (name, and 0 training, 1 validation, 2 test). Images of part 0
 * and 2 are read, resized to v; the table has the columns `columns` [n_columns], as 1 and 0.
 * INPUT: a file, a column or an image that is not there, a count that differs, a value that is
 * neither, names that differ between the lists.
 */
struct lab_images *lab_images_celeba(const char *folder, const struct fis_vit *v,
                                     const char *const *columns, uint32_t n_columns,
                                     struct fis_error *e) FIS_MUST_CHECK;

/*
 * MedMNIST's layout: a .npz of numpy with train_images (uint8, [n][h][w] or [n][h][w][channels]),
 * train_labels ([n] or [n][1], whole numbers), the same for test and, where they are there, val.
 * The table has the column "label", and the groups of the images: "group" of the arrays
 * train_groups, …; or with `groups`, a file of rows (data/rows.h) with one for each image, of
 * train, val and test in this order, its columns `sensitive` [n].
 */
struct lab_images *lab_images_npz(const char *path, const char *groups,
                                  const char *const *sensitive, uint32_t n,
                                  struct fis_error *e) FIS_MUST_CHECK;

#endif
