/* Metrics of the process, as the system has them. */

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/monitor/metrics.h"

double metrics_cpu(const struct status *s)
{
    struct rusage u;
    (void)s;
    if (getrusage(RUSAGE_SELF, &u) != 0)
        return (double)NAN;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

double metrics_resident(const struct status *s)
{
    unsigned long all, resident;
    (void)s;
    FILE *in = fopen("/proc/self/statm", "r");
    if (!in)
        return (double)NAN;
    int n = fscanf(in, "%lu %lu", &all, &resident);
    fclose(in);
    return n == 2 ? (double)resident * (double)sysconf(_SC_PAGESIZE) : (double)NAN;
}

double metrics_descriptors(const struct status *s)
{
    DIR *d = opendir("/proc/self/fd");
    double n = -1; /* the directory itself */
    (void)s;
    if (!d)
        return (double)NAN;
    for (const struct dirent *f; (f = readdir(d));)
        n += f->d_name[0] != '.';
    closedir(d);
    return n;
}
