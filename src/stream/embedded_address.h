/*
 * Where an embedded broker can be found: its port differs each time, so the process that
 * runs it writes "host:port" to a file that the tools of the same user and pipeline look into.
 * ${FISD_RUN_DIR:-${XDG_RUNTIME_DIR:-/tmp}}/fisd-<pipeline>-<uid>.broker, readable by its user
 * alone. Thread: safe.
 */
#ifndef STREAM_EMBEDDED_ADDRESS_H
#define STREAM_EMBEDDED_ADDRESS_H

#include <stddef.h>

#include "fis/error.h"

#define STREAM_ADDRESS_MAX 512

/* Each takes buffers of STREAM_ADDRESS_MAX bytes. */
/* FATAL when the file cannot be written, or belongs to somebody else. */
int stream_address_write(const char *pipeline, const char *address,
                         struct fis_error *e) FIS_MUST_CHECK;
/* INPUT when there is no such file: no embedded broker of this pipeline is running. */
int stream_address_read(const char *pipeline, char *address, struct fis_error *e) FIS_MUST_CHECK;
void stream_address_remove(const char *pipeline);

#endif
