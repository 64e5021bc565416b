#include "data/npz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fis/mem.h"

#define PIECE 65536u
#define MEMBERS_MAX 256u
#define HEADER_MAX 4096u
#define END_BYTES 22u
#define ENTRY_BYTES 46u
#define LOCAL_BYTES 30u

struct member {
    char name[64]; /* without ".npy" */
    uint32_t method, flags, crc, packed, size, at;
};

struct data_npz {
    FILE *f;
    char *path;
    struct member *members;
    uint32_t n;
};

static uint32_t number(const unsigned char *at, unsigned bytes)
{
    uint32_t n = 0;
    for (unsigned i = bytes; i-- > 0;)
        n = n << 8 | at[i];
    return n;
}

static int bad(const struct data_npz *z, struct fis_error *e, const char *what)
{
    return fis_fail(e, FIS_INPUT, "%s: %s", z->path, what);
}

/* ---- the archive ----------------------------------------------------------------------------- */

static int get(struct data_npz *z, uint64_t at, void *to, size_t n)
{
    return fseeko(z->f, (off_t)at, SEEK_SET) || fread(to, 1, n, z->f) != n ? -1 : 0;
}

/* The record at the end of the archive, behind which there may be a comment. */
static int find_end(struct data_npz *z, unsigned char end[END_BYTES], struct fis_error *e)
{
    static const char none[] = "no .npz of numpy: a zip archive is allowed";
    if (fseeko(z->f, 0, SEEK_END))
        return bad(z, e, strerror(errno));
    const off_t size = ftello(z->f);
    if (size < (off_t)END_BYTES)
        return bad(z, e, none);
    const size_t tail = size < (off_t)PIECE ? (size_t)size : PIECE;
    unsigned char *b = fis_alloc(tail, 1);
    if (!b)
        return fis_fail(e, FIS_NOMEM, "%s: no memory", z->path);
    int rc = get(z, (uint64_t)size - tail, b, tail) ? bad(z, e, none) : 1;
    for (size_t i = tail - END_BYTES + 1; rc == 1 && i-- > 0;)
        if (memcmp(b + i, "PK\5\6", 4) == 0) {
            memcpy(end, b + i, END_BYTES);
            rc = 0;
        }
    fis_free(b);
    return rc == 1 ? bad(z, e, none) : rc;
}

static void take_name(struct member *m, const char *name, size_t n)
{
    if (n > 4 && memcmp(name + n - 4, ".npy", 4) == 0)
        n -= 4;
    snprintf(m->name, sizeof m->name, "%.*s", (int)n, name);
}

static int read_members(struct data_npz *z, struct fis_error *e)
{
    unsigned char end[END_BYTES], entry[ENTRY_BYTES];
    char name[1024];
    int rc = find_end(z, end, e);
    if (rc)
        return rc;
    const uint32_t n = number(end + 10, 2);
    uint64_t at = number(end + 16, 4);
    if (n > MEMBERS_MAX || at == UINT32_MAX)
        return bad(z, e, "over 256 arrays or 4 GiB, which is not read");
    if (n && !(z->members = fis_calloc(n, sizeof *z->members)))
        return fis_fail(e, FIS_NOMEM, "%s: no memory", z->path);
    for (; z->n < n; z->n++) {
        if (get(z, at, entry, sizeof entry) || memcmp(entry, "PK\1\2", 4))
            return bad(z, e, "its list of arrays is damaged");
        const uint32_t length = number(entry + 28, 2);
        const size_t kept = length < sizeof name ? length : sizeof name;
        if (get(z, at + ENTRY_BYTES, name, kept))
            return bad(z, e, "its list of arrays is damaged");
        struct member *m = &z->members[z->n];
        *m = (struct member){.flags = number(entry + 8, 2),
                             .method = number(entry + 10, 2),
                             .crc = number(entry + 16, 4),
                             .packed = number(entry + 20, 4),
                             .size = number(entry + 24, 4),
                             .at = number(entry + 42, 4)};
        take_name(m, name, kept);
        at += ENTRY_BYTES + length + number(entry + 30, 2) + number(entry + 32, 2);
    }
    return 0;
}

struct data_npz *data_npz_open(const char *path, struct fis_error *e)
{
    struct data_npz *z = fis_calloc(1, sizeof *z);
    int rc = z && (z->path = fis_strdup(path)) ? 0 : fis_fail(e, FIS_NOMEM, "%s: no memory", path);
    if (!rc && !(z->f = fopen(path, "rb")))
        rc = bad(z, e, strerror(errno));
    if (!rc)
        rc = read_members(z, e);
    if (!rc)
        return z;
    data_npz_close(z);
    return NULL;
}

void data_npz_close(struct data_npz *z)
{
    if (!z)
        return;
    if (z->f)
        fclose(z->f);
    fis_free(z->members);
    fis_free(z->path);
    fis_free(z);
}

static uint32_t place_of(const struct data_npz *z, const char *name)
{
    uint32_t i = 0;
    while (i < z->n && strcmp(z->members[i].name, name))
        i++;
    return i;
}

bool data_npz_has(const struct data_npz *z, const char *name)
{
    return place_of(z, name) < z->n;
}

/* ---- a member's bytes ------------------------------------------------------------------------ */

/* Bytes [skip, skip + n) of a member to `to`; the CRC is checked where that is all to its end. */
struct reading {
    const struct member *m;
    uint64_t skip, n, done; /* done: bytes of the member so far */
    unsigned char *to;
    uLong crc;
};

static void take(struct reading *r, const unsigned char *b, size_t n)
{
    r->crc = crc32(r->crc, b, (uInt)n);
    const uint64_t from = r->done < r->skip ? r->skip - r->done : 0;
    const uint64_t room = r->skip + r->n > r->done ? r->skip + r->n - r->done : 0;
    const uint64_t end = n < room ? n : room;
    if (from < end)
        memcpy(r->to + (r->done + from - r->skip), b + from, (size_t)(end - from));
    r->done += n;
}

static int inflate_to(struct reading *r, z_stream *s, unsigned char *out)
{
    int rc;
    do {
        s->next_out = out;
        s->avail_out = PIECE;
        rc = inflate(s, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return -1;
        take(r, out, PIECE - s->avail_out);
    } while (s->avail_out == 0 && rc != Z_STREAM_END);
    return 0;
}

/* The member from its place to where the reading ends. */
static int stream(struct data_npz *z, struct reading *r, unsigned char *in, unsigned char *out)
{
    z_stream s = {.zalloc = NULL};
    const bool packed = r->m->method == 8;
    uint64_t left = r->m->packed;
    if (packed && inflateInit2(&s, -MAX_WBITS) != Z_OK)
        return -1;
    int rc = 0;
    while (!rc && left && r->done < r->skip + r->n) {
        const size_t n = left < PIECE ? (size_t)left : PIECE;
        if (fread(in, 1, n, z->f) != n) {
            rc = -1;
            break;
        }
        left -= n;
        s.next_in = in;
        s.avail_in = (uInt)n;
        if (packed)
            rc = inflate_to(r, &s, out);
        else
            take(r, in, n);
    }
    if (packed)
        inflateEnd(&s);
    const bool whole = r->done >= r->m->size;
    return rc || r->done < r->skip + r->n || (whole && r->crc != r->m->crc) ? -1 : 0;
}

static int read_part(struct data_npz *z, uint32_t member, uint64_t skip, uint64_t n, void *to,
                     struct fis_error *e)
{
    const struct member *m = &z->members[member];
    struct reading r = {.m = m, .skip = skip, .n = n, .to = to};
    unsigned char local[LOCAL_BYTES], *room;
    if (m->flags & 1 || m->size == UINT32_MAX || (m->method && m->method != 8))
        return fis_fail(e, FIS_INPUT,
                        "%s: %s.npy is encrypted, over 4 GiB, or packed by method %u; stored and "
                        "deflated arrays are read",
                        z->path, m->name, m->method);
    if (get(z, m->at, local, sizeof local) || memcmp(local, "PK\3\4", 4) ||
        fseeko(z->f, (off_t)number(local + 26, 2) + (off_t)number(local + 28, 2), SEEK_CUR))
        return fis_fail(e, FIS_INPUT, "%s: %s.npy is damaged", z->path, m->name);
    if (!(room = fis_alloc(2 * (size_t)PIECE, 1)))
        return fis_fail(e, FIS_NOMEM, "%s: no memory", z->path);
    const int rc = stream(z, &r, room, room + PIECE);
    fis_free(room);
    return rc ? fis_fail(e, FIS_INPUT, "%s: %s.npy is damaged or ends early", z->path, m->name) : 0;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* What stands behind 'key': in the header's dictionary; NULL: it is not there. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static int take_shape(struct data_array *a, const char *at)
{
    a->bytes = a->item;
    if (!at || *at++ != '(')
        return -1;
    while (at += strspn(at, " ,"), *at != ')') {
        char *end;
        const unsigned long long n = strtoull(at, &end, 10);
        if (end == at || a->n_dims == DATA_ARRAY_DIMS || n > UINT32_MAX ||
            (n && a->bytes > UINT64_MAX / 2 / n))
            return -1;
        a->dims[a->n_dims++] = n;
        a->bytes *= n;
        at = end;
    }
    return 0;
}

/* {'descr': '|u1', 'fortran_order': False, 'shape': (10, 28, 28), } */
static int parse(struct data_array *a, const char *header)
{
    const char *type = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    const size_t n = type && *type == '\'' ? strcspn(type + 1, "'") : 0;
    if (n < 3 || n >= sizeof a->type || !order || strncmp(order, "False", 5))
        return -1;
    memcpy(a->type, type + 1, n);
    a->kind = a->type[1];
    a->item = (uint32_t)strtoul(a->type + 2, NULL, 10);
    if (a->type[0] == '>' || a->item < 1 || a->item > 16)
        return -1;
    return take_shape(a, value_of(header, "'shape'"));
}

static int no_array(const struct data_npz *z, const char *name, struct fis_error *e)
{
    char names[FIS_ERROR_TEXT / 2] = "";
    for (uint32_t i = 0; i < z->n; i++) {
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, z->members[i].name, sizeof names - strlen(names) - 1);
    }
    return fis_fail(e, FIS_INPUT, "%s: no array %s (found: %s)", z->path, name, names);
}

int data_npz_find(struct data_npz *z, const char *name, struct data_array *out, struct fis_error *e)
{
    unsigned char b[HEADER_MAX + 1] = {0};
    struct data_array a = {.member = place_of(z, name)};
    if (a.member == z->n)
        return no_array(z, name, e);
    const uint32_t size = z->members[a.member].size;
    snprintf(a.name, sizeof a.name, "%s", name);
    int rc = read_part(z, a.member, 0, size < HEADER_MAX ? size : HEADER_MAX, b, e);
    if (rc)
        return rc;
    const unsigned wide = b[6] > 1 ? 4 : 2; /* bytes of the length, by the version */
    a.header = 8 + wide + number(b + 8, wide);
    if (memcmp(b, "\x93NUMPY", 6) || a.header > size || a.header > HEADER_MAX)
        return fis_fail(e, FIS_INPUT, "%s: %s.npy is no array of numpy", z->path, name);
    b[a.header] = 0;
    const char *text = (const char *)b + 8 + wide;
    if (parse(&a, text) || a.bytes != size - a.header)
        return fis_fail(e, FIS_INPUT,
                        "%s: %s.npy: found %.*s; allowed is a little-endian array of numbers in "
                        "C's order, of at most %d dimensions",
                        z->path, name, (int)(strcspn(text, "}\n") + (strchr(text, '}') != NULL)),
                        text, DATA_ARRAY_DIMS);
    *out = a;
    return 0;
}

int data_npz_read(struct data_npz *z, const struct data_array *a, void *to, struct fis_error *e)
{
    return read_part(z, a->member, a->header, a->bytes, to, e);
}
