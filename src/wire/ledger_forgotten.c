/* What the ledger keeps of a record that was forgotten: a mark, from which the id does not follow.
 */
#include <string.h>

#include "base/chacha.h"
#include "wire/ledger_impl.h"
#include "wire/protobuf_parts.h"

static const char prefix[] = "\0forgotten/";
#define PREFIX (sizeof prefix - 1)

void wire_forgotten_mark(struct wire_bytes salt, const struct fis_id *id,
                         unsigned char mark[WIRE_MARK])
{
    unsigned char key[CHACHA_KEY] = {0};
    chacha_absorb(key, salt.data, salt.length);
    chacha_absorb(key, id->bytes, id->length);
    memcpy(mark, key, WIRE_MARK);
}

int wire_forgotten_key(const struct wire_forgotten *f, struct byte_buffer *out, struct fis_error *e)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * WIRE_MARK];
    for (int i = 0; i < WIRE_MARK; i++) {
        text[2 * i] = digits[f->mark[i] >> 4];
        text[2 * i + 1] = digits[f->mark[i] & 15];
    }
    int rc = byte_buffer_append(out, prefix, PREFIX, e);
    return rc ? rc : byte_buffer_append(out, text, sizeof text, e);
}

int wire_forgotten_encode(const struct wire_forgotten *f, struct byte_buffer *out,
                          struct fis_error *e)
{
    Fis__V1__Forgotten m = FIS__V1__FORGOTTEN__INIT;
    m.salt = wire_binary_of(f->salt.data, f->salt.length);
    m.charged = f->charged;
    m.at_ms = f->at_ms;
    return wire_protobuf_pack(&m, out, e);
}

bool wire_is_forgotten_key(struct wire_bytes key)
{
    return key.length > PREFIX && !memcmp(key.data, prefix, PREFIX);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_mark(struct wire_bytes key, unsigned char mark[WIRE_MARK], struct fis_error *e)
{
    const char *text = (const char *)key.data + PREFIX;
    bool good = key.length == PREFIX + 2 * WIRE_MARK;
    for (int i = 0; good && i < WIRE_MARK; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        mark[i] = (unsigned char)(good ? high << 4 | low : 0);
    }
    return good ? 0 : fis_fail(e, FIS_INPUT, "ledger: the mark of a forgotten record is none");
}

int wire_forgotten_read(const struct wire_message *m, struct fis_arena *arena,
                        struct wire_forgotten *out, struct fis_error *e)
{
    *out = (struct wire_forgotten){0};
    int rc = read_mark(m->key, out->mark, e);
    if (rc || !m->value.data)
        return rc;
    const Fis__V1__Forgotten *f =
        wire_protobuf_unpack(&fis__v1__forgotten__descriptor, m->value, arena, e);
    if (!f)
        return -FIS_INPUT;
    if (!f->salt.len || f->salt.len > FIS_ID_MAX)
        return fis_fail(e, FIS_INPUT, "ledger: a forgotten record with a salt of %zu bytes",
                        f->salt.len);
    out->salt = wire_bytes_of(f->salt);
    out->charged = f->charged != 0;
    out->at_ms = f->at_ms;
    return 0;
}
