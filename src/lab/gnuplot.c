#include "lab/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

int lab_gnuplot(const char *script, struct fis_error *e)
{
    char *argv[] = {"gnuplot", (char *)(uintptr_t)script, NULL};
    pid_t child;
    int status, failed = posix_spawnp(&child, "gnuplot", NULL, NULL, argv, environ);
    if (failed)
        return fis_fail(e, FIS_RETRY, "plots: gnuplot cannot be run: %s", strerror(failed));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fis_fail(e, FIS_INPUT, "plots: waiting for gnuplot: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return fis_fail(e, FIS_RETRY, "plots: gnuplot is not there");
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return fis_fail(e, FIS_INPUT, "plots: gnuplot failed on %s", script);
    return 0;
}
