/*
 * JSON without malloc. Jansson allocates for every value; while an arena is entered, what this
 * thread's jansson calls ask for comes from that arena and freeing does nothing: what was decoded
 * lives until the arena is reset. Outside, memory comes through fis/mem.h.
 *
 * Jansson's hooks carry no argument, so the arena in force is a thread-local pointer: the one place
 * where the program keeps state that no caller holds.
 *
 * An arena that is full is an error of the text (wire/json_text.h), found after the parse.
 *
 * Caveat: a json_t made inside must not be used or freed after wire_json_arena_leave, strings
 * taken out of it excepted, which live as long as the arena's contents.
 */
#ifndef WIRE_JSON_ARENA_H
#define WIRE_JSON_ARENA_H

#include "fis/mem.h"

/* Of an arena for each byte of a record: text and tree together. */
#define WIRE_JSON_PER_BYTE 24

/* Once, when the program starts, before a second thread and before any other use of jansson. */
void wire_json_init(void);

/* Not nested. Thread: this thread only. */
void wire_json_arena_enter(struct fis_arena *arena);
void wire_json_arena_leave(void);

/* For json_text.c: whether any allocation was refused since the watch began; what was parsed then
 * does not count, see json_arena.c. */
void wire_json_watch(void);
int wire_json_refused(void);
size_t wire_json_arena_size(void); /* 0: no arena is entered */

#endif
