/* The process: its memory, and what the kernel says of it; NaN where it does not. Thread: any. */
#ifndef DAEMON_PROCESS_H
#define DAEMON_PROCESS_H

double process_cpu_seconds(void);
double process_resident_bytes(void);
double process_open_fds(void);

#endif
