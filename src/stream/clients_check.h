/*
 * Whether the clients of the roles can be made from a list of properties: what each of them
 * refuses, and what librdkafka refuses of several properties together. No broker is asked.
 * Thread: safe. Owns: nothing.
 */
#ifndef STREAM_CLIENTS_CHECK_H
#define STREAM_CLIENTS_CHECK_H

#include "stream/conf.h"

/* INPUT: it names a property, where one alone is to blame. */
int stream_clients_check(const struct stream_property *properties, size_t count, bool exactly_once,
                         struct fis_error *e) FIS_MUST_CHECK;

#endif
