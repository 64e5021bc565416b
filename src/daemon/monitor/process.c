#include "daemon/monitor/process.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

double process_cpu_seconds(void)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0)
        return (double)NAN;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

double process_resident_bytes(void)
{
    unsigned long all, resident;
    FILE *in = fopen("/proc/self/statm", "r");
    if (!in)
        return (double)NAN;
    int n = fscanf(in, "%lu %lu", &all, &resident);
    fclose(in);
    return n == 2 ? (double)resident * (double)sysconf(_SC_PAGESIZE) : (double)NAN;
}

double process_open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    double n = -1; /* the directory itself */
    if (!d)
        return (double)NAN;
    for (const struct dirent *f; (f = readdir(d));)
        n += f->d_name[0] != '.';
    closedir(d);
    return n;
}
