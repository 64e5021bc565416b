#include "data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "fis/mem.h"

#define PACKED_CHUNK 65536
#define GZIP_WINDOW (15 + 16) /* the largest, with gzip's header */
#define HEAD 512              /* bytes that are looked at */
#define TAR_AT 257            /* where tar says so */

struct data_file {
    int fd;
    bool looked, packed, at_end;
    z_stream z;
    size_t left; /* of in[], from z.next_in on */
    unsigned char in[PACKED_CHUNK];
};

/* ---- what it is ------------------------------------------------------------------------------- */

static const struct {
    const char *magic;
    size_t length;
    const char *name;
    bool binary; /* text may begin so, but has no zeros */
} formats[] = {
    {"PK\3\4", 4, "a zip archive; unpack it first", false},
    {"PK\5\6", 4, "an empty zip archive", false},
    {"\xd0\xcf\x11\xe0", 4, "an Excel workbook (.xls); save it as CSV", false},
    {"PAR1", 4, "Parquet; write it as CSV", true},
    {"ARROW1", 6, "an Arrow or Feather file; write it as CSV", true},
    {"FEA1", 4, "a Feather file; write it as CSV", true},
    {"ORC", 3, "an ORC file; write it as CSV", true},
    {"Obj\1", 4, "an Avro file; write it as JSON lines", false},
    {"\x89HDF", 4, "an HDF5 file; write it as CSV", false},
    {"\x93NUMPY", 6, "a NumPy array; write it as CSV", false},
    {"SQLite format 3", 15, "an SQLite database; export the table as CSV", false},
    {"%PDF", 4, "a PDF", false},
    {"BZh", 3, "bzip2; unpack it first, or pack it with gzip", true},
    {"\xfd" "7zXZ", 5, "xz; unpack it first, or pack it with gzip", false},
    {"\x28\xb5\x2f\xfd", 4, "zstd; unpack it first, or pack it with gzip", false},
    {"7z\xbc\xaf", 4, "a 7z archive; unpack it first", false},
    {"\x04\x22\x4d\x18", 4, "lz4; unpack it first, or pack it with gzip", false},
    {"\x1f\x9d", 2, "the output of compress; unpack it first, or pack it with gzip", false},
    {"\x1f\x8b", 2, "gzip in gzip; unpack it once", false},
    {"x\x9c", 2, "zlib's format; unpack it first, or pack it with gzip", false},
    {"x\x01", 2, "zlib's format; unpack it first, or pack it with gzip", false},
    {"x\xda", 2, "zlib's format; unpack it first, or pack it with gzip", false},
    {"\x80\x03", 2, "a pickle of Python; write it as CSV", true},
    {"\x80\x04", 2, "a pickle of Python; write it as CSV", true},
    {"\x80\x05", 2, "a pickle of Python; write it as CSV", true},
    {"RDX", 3, "data of R; write it as CSV", true},
    {"X\n\0\0", 4, "data of R; write it as CSV", false},
    {"\xff\xfe", 2, "UTF-16 text; save it as UTF-8", false},
    {"\xfe\xff", 2, "UTF-16 text; save it as UTF-8", false},
    {"version https://git-lfs", 23, "a pointer of git-lfs; fetch the file with git lfs pull", false},
    {"/annex/objects/", 15, "a pointer of git-annex; fetch the file with git annex get", false},
};

static bool has_text(const unsigned char *p, size_t n, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= n; i++)
        if (!memcmp(p + i, text, length))
            return true;
    return false;
}

static const char *other_text(const unsigned char *p, size_t n)
{
    while (n && strchr(" \t\r\n", *p) && *p) {
        p++;
        n--;
    }
    const char *at = (const char *)p;
    if ((n >= 9 && !strncasecmp(at, "<!doctype", 9)) || (n >= 5 && !strncasecmp(at, "<html", 5)))
        return "an HTML page; was it a login or an error in place of the file?";
    if (n && *at == '[')
        while (--n && strchr(" \t\r\n", *++at) && *at)
            ;
    if (n && p[0] == '[' && *at == '{')
        return "a JSON array; write one object a line (jq -c '.[]')";
    return n >= 5 && !memcmp(at, "<?xml", 5) ? "XML; write it as CSV" : NULL;
}

/* NULL: it may be text. */
static const char *what_is(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (n >= formats[i].length && !memcmp(p, formats[i].magic, formats[i].length) &&
            (!formats[i].binary || memchr(p, 0, n)))
            return i == 0 && (has_text(p, n, "[Content_Types].xml") || has_text(p, n, "xl/"))
                       ? "an Excel workbook (.xlsx); save it as CSV"
                       : formats[i].name;
    if (n >= 4 && !p[0] != !p[1] && !p[2] != !p[3] && !p[0] == !p[2])
        return "UTF-16 text; save it as UTF-8";
    if (n > TAR_AT + 5 && !memcmp(p + TAR_AT, "ustar", 5))
        return "a tar archive; unpack it first";
    return other_text(p, n);
}

static int look(const unsigned char *p, size_t n, struct fis_error *e)
{
    const char *name = what_is(p, n < HEAD ? n : HEAD);
    return name ? fis_fail(e, FIS_INPUT, "found %s; expected CSV or JSON lines in UTF-8, plain or "
                                         "packed with gzip", name)
                : 0;
}

/* ---- reading ---------------------------------------------------------------------------------- */

struct data_file *data_file_open(const char *path, bool regular, struct fis_error *e)
{
    struct stat st;
    struct data_file *f = fis_calloc(1, sizeof *f);
    if (!f) {
        fis_fail(e, FIS_NOMEM, "no memory to read it");
        return NULL;
    }
    if (regular && stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        fis_fail(e, FIS_INPUT, "not a regular file, which is required since it is read twice");
        fis_free(f);
        return NULL;
    }
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd >= 0)
        return f;
    fis_fail(e, FIS_INPUT, "cannot be opened: %s", strerror(errno));
    fis_free(f);
    return NULL;
}

void data_file_close(struct data_file *f)
{
    if (!f)
        return;
    if (f->packed)
        inflateEnd(&f->z);
    close(f->fd);
    fis_free(f);
}

static int read_some(struct data_file *f, void *to, size_t size, size_t *length, struct fis_error *e)
{
    ssize_t n;
    do
        n = read(f->fd, to, size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return fis_fail(e, FIS_INPUT, "cannot be read: %s", strerror(errno));
    *length = (size_t)n;
    return 0;
}

/* The first bytes, of which a pipe may give one at a time. */
static int begin(struct data_file *f, struct fis_error *e)
{
    size_t n = 1;
    while (n && f->left < HEAD) {
        int rc = read_some(f, f->in + f->left, sizeof f->in - f->left, &n, e);
        if (rc)
            return rc;
        f->left += n;
    }
    f->looked = true;
    f->z.next_in = f->in;
    if (f->left < 2 || f->in[0] != 0x1f || f->in[1] != 0x8b)
        return look(f->in, f->left, e);
    if (inflateInit2(&f->z, GZIP_WINDOW) != Z_OK)
        return fis_fail(e, FIS_NOMEM, "no memory to unpack gzip");
    f->packed = true;
    return 0;
}

/* One call of zlib, which may give nothing. */
static int unpack(struct data_file *f, struct fis_error *e)
{
    if (!f->left) {
        int rc = read_some(f, f->in, sizeof f->in, &f->left, e);
        if (rc)
            return rc;
        f->z.next_in = f->in;
        if (!f->left)
            return fis_fail(e, FIS_INPUT, "gzip: the file ends in the middle");
    }
    f->z.avail_in = (uInt)f->left;
    int got = inflate(&f->z, Z_NO_FLUSH);
    f->left = f->z.avail_in;
    if (got == Z_STREAM_END)
        f->at_end = true;
    else if (got == Z_MEM_ERROR)
        return fis_fail(e, FIS_NOMEM, "no memory to unpack gzip");
    else if (got != Z_OK && got != Z_BUF_ERROR)
        return fis_fail(e, FIS_INPUT, "gzip: damaged (%s)", f->z.msg ? f->z.msg : "no such data");
    return 0;
}

/* A file may be several, one behind another; behind the last there may be zeros. */
static int next_member(struct data_file *f, bool *more, struct fis_error *e)
{
    *more = false;
    do {
        if (!f->left) {
            int rc = read_some(f, f->in, sizeof f->in, &f->left, e);
            if (rc || !f->left)
                return rc;
            f->z.next_in = f->in;
        }
        for (; f->left && !*f->z.next_in; f->left--)
            f->z.next_in++;
    } while (!f->left);
    if (*f->z.next_in != 0x1f || inflateReset(&f->z) != Z_OK)
        return fis_fail(e, FIS_INPUT, "gzip: something else follows its end");
    f->at_end = false;
    *more = true;
    return 0;
}

static int read_packed(struct data_file *f, void *to, size_t size, size_t *length,
                       struct fis_error *e)
{
    bool first = !f->z.total_out, more = true;
    f->z.next_out = to;
    f->z.avail_out = (uInt)size;
    while (more && f->z.avail_out == size) {
        int rc = f->at_end ? next_member(f, &more, e) : unpack(f, e);
        if (rc)
            return rc;
    }
    *length = size - f->z.avail_out;
    return first ? look(to, *length, e) : 0;
}

int data_file_read(struct data_file *f, void *to, size_t size, size_t *length, struct fis_error *e)
{
    int rc = f->looked ? 0 : begin(f, e);
    if (rc)
        return rc;
    if (f->packed)
        return read_packed(f, to, size, length, e);
    if (!f->left)
        return read_some(f, to, size, length, e);
    *length = f->left < size ? f->left : size;
    memcpy(to, f->z.next_in, *length);
    f->z.next_in += *length;
    f->left -= *length;
    return 0;
}
