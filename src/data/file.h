/*
 * The bytes of a file of rows, unpacked where it is gzip. What is no text of rows is named by its
 * first bytes: archives, workbooks, Parquet, HTML, UTF-16 and others. Pipes are read like files.
 * Thread: one owner. Owns: the descriptor, its buffers.
 */
#ifndef DATA_FILE_H
#define DATA_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "fis/error.h"

struct data_file;
/* regular: a pipe or a device is refused. INPUT: it cannot be opened. Errors do not name the file. */
struct data_file *data_file_open(const char *path, bool regular, struct fis_error *e) FIS_MUST_CHECK;
/* At most `size` bytes (64 or more); 0 at the end. INPUT: it cannot be read, or is no text. */
int data_file_read(struct data_file *f, void *to, size_t size, size_t *length,
                   struct fis_error *e) FIS_MUST_CHECK;
void data_file_close(struct data_file *f); /* NULL is fine */

#endif
