#include "stream/embedded_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void stream_address_path(const char *pipeline, char *path)
{
    const char *dir = getenv("FISD_RUN_DIR");
    if (!dir || !*dir)
        dir = getenv("XDG_RUNTIME_DIR");
    if (!dir || !*dir)
        dir = "/tmp";
    snprintf(path, STREAM_ADDRESS_MAX, "%s/fisd-%s-%u.broker", dir, pipeline, (unsigned)geteuid());
}

int stream_address_write(const char *pipeline, const char *address, struct fis_error *e)
{
    char path[STREAM_ADDRESS_MAX];
    stream_address_path(pipeline, path);
    /* A link planted by another user must not be followed, nor their file be used. */
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fis_fail(e, FIS_FATAL, "%s: the embedded broker's address cannot be written: %s",
                        path, strerror(errno));
    size_t n = strlen(address);
    ssize_t written = write(fd, address, n);
    close(fd);
    if (written != (ssize_t)n)
        return fis_fail(e, FIS_FATAL, "%s: the embedded broker's address cannot be written", path);
    return 0;
}

static int read_own(int fd, char *address)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
        return -1;
    ssize_t n = read(fd, address, STREAM_ADDRESS_MAX - 1);
    if (n <= 0)
        return -1;
    address[n] = 0;
    address[strcspn(address, "\r\n")] = 0;
    return *address ? 0 : -1;
}

int stream_address_read(const char *pipeline, char *address, struct fis_error *e)
{
    char path[STREAM_ADDRESS_MAX];
    stream_address_path(pipeline, path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int rc = fd < 0 ? -1 : read_own(fd, address);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        return fis_fail(e, FIS_INPUT,
                        "no broker: kafka.bootstrap.servers is not set, and no embedded broker of "
                        "pipeline '%s' is running (%s)",
                        pipeline, path);
    return 0;
}

void stream_address_remove(const char *pipeline)
{
    char path[STREAM_ADDRESS_MAX];
    stream_address_path(pipeline, path);
    unlink(path);
}
