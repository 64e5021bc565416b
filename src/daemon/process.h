/* What the kernel says of this process. NaN where it does not. Thread: any. */
#ifndef DAEMON_PROCESS_H
#define DAEMON_PROCESS_H

double process_cpu_seconds(void);
double process_resident_bytes(void);
double process_open_fds(void);

#endif
