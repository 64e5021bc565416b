#include "lab/fetch.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include "lab_fetch.h"

#define FILES_MAX 8

extern char **environ;

/* The caller may have blocked signals; python3 shall be interruptible all the same. */
static int spawn(pid_t *child, char **argv)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    int failed = posix_spawnattr_init(&attributes);
    if (failed)
        return failed;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    failed = posix_spawnp(child, "python3", NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

int lab_fetch(const char *folder, const char *const *files, unsigned n, struct fis_error *e)
{
    char *argv[5 + FILES_MAX] = {"python3", "-c", (char *)(uintptr_t)lab_fetch_script,
                                 (char *)(uintptr_t)folder};
    pid_t child;
    int status, failed;
    if (n > FILES_MAX)
        return fis_fail(e, FIS_INPUT, "data: %u files at once; at most %d", n, FILES_MAX);
    for (unsigned i = 0; i < n; i++)
        argv[4 + i] = (char *)(uintptr_t)files[i];
    argv[4 + n] = NULL;
    if ((failed = spawn(&child, argv)) != 0)
        return fis_fail(e, FIS_INPUT, "data: python3, which prepares them, cannot be run: %s",
                        strerror(failed));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fis_fail(e, FIS_INPUT, "data: waiting for python3: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fis_fail(e, FIS_INPUT, "data: %s could not be prepared in %s; see above", files[0],
                        folder);
    return 0;
}
