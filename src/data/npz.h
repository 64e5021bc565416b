/*
 * Arrays of numpy's .npz: a zip archive with a NAME.npy for each, stored or deflated, as
 * numpy.savez and numpy.savez_compressed write them. An array is read straight to where it shall
 * lie; its CRC-32 is checked.
 *
 * Not read: archives over 4 GiB (zip64), encrypted ones, arrays in Fortran's order or of another
 * byte order, objects.
 *
 * Errors name the file, and the array where there is one. Thread: one owner. Owns: the file.
 */
#ifndef DATA_NPZ_H
#define DATA_NPZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"

#define DATA_ARRAY_DIMS 5

struct data_array {
    char name[64];
    char kind;     /* 'u', 'i', 'f', 'b' as numpy has them; another one for others */
    char type[16]; /* for people: "|u1" */
    uint32_t item; /* bytes of a number */
    uint32_t n_dims;
    uint64_t dims[DATA_ARRAY_DIMS];
    uint64_t bytes;  /* of all its numbers */
    uint32_t member; /* in the archive */
    uint32_t header; /* bytes before the numbers */
};

struct data_npz;
/* INPUT: no such file, or no zip archive. */
struct data_npz *data_npz_open(const char *path, struct fis_error *e) FIS_MUST_CHECK;
void data_npz_close(struct data_npz *z); /* NULL is fine */
bool data_npz_has(const struct data_npz *z, const char *name);
/* What an array is. INPUT: it is not there (the error lists those that are), or cannot be read. */
int data_npz_find(struct data_npz *z, const char *name, struct data_array *out,
                  struct fis_error *e) FIS_MUST_CHECK;
/* Its numbers: a->bytes. INPUT: the archive is damaged or ends early. */
int data_npz_read(struct data_npz *z, const struct data_array *a, void *to,
                  struct fis_error *e) FIS_MUST_CHECK;

#endif
