/* The process: its memory, and what the kernel says of it; NaN where it does not. Thread: any. */
#ifndef DAEMON_PROCESS_H
#define DAEMON_PROCESS_H

/* What was freed is kept for the next use: a queue of records that fills and empties would have the
 * kernel take pages away and clear them again all the time. For glibc; before any thread. */
void process_keep_memory(void);

double process_cpu_seconds(void);
double process_resident_bytes(void);
double process_open_fds(void);

#endif
