/* The first records of a topic, as fisctl init looks at them. */
#include "cli/init_impl.h"

#include "cli/schemas.h"
#include "cli/topic_reader.h"
#include "fis/mem.h"
#include "wire/framing.h"
#include "wire/json_arena.h"

enum { SAMPLE = 5000, RECORD_BYTES = 1 << 20 };

/* What reads the records by their schemas; all 0 without --registry. */
struct decoder {
    struct cli_schemas schemas;
    struct fis_arena arena;
};

static int open_decoder(struct decoder *d, const struct init *n, struct cli *c, struct fis_error *e)
{
    if (!n->registry.count)
        return 0;
    d->arena = (struct fis_arena){.size = WIRE_JSON_PER_BYTE * RECORD_BYTES};
    d->arena.base = fis_alloc(d->arena.size, 1);
    if (!d->arena.base)
        return fis_fail(e, FIS_NOMEM, "no memory for schemas");
    return cli_schemas_open(&d->schemas, c, e);
}

static void close_decoder(struct decoder *d)
{
    cli_schemas_close(&d->schemas);
    fis_free(d->arena.base);
}

/* The value as JSON. INPUT: it cannot be read; RETRY: the registry does not answer. */
static int decode(struct decoder *d, struct init *n, struct wire_bytes *value, struct fis_error *e)
{
    const struct wire_framing frame = {.kind = WIRE_FRAMING_CONFLUENT};
    const struct wire_format *format;
    struct fis_error none;
    if (!value->data)
        return fis_fail(e, FIS_INPUT, "null");
    if (!d->schemas.registry) {
        n->framed |= value->length && *(const unsigned char *)value->data == 0 &&
                     !wire_unframe_json(value, &frame, "records", &none);
        return 0;
    }
    fis_arena_reset(&d->arena);
    int rc = cli_schemas_find(&d->schemas, *value, &format, e);
    return rc ? rc : wire_format_json(format, *value, RECORD_BYTES, &d->arena, value, e);
}

struct sampling {
    struct init *n;
    struct decoder decoder;
    struct data_table_builder *table;
};

static int take(void *arg, const struct stream_message *m, struct fis_error *e)
{
    struct sampling *s = arg;
    struct wire_bytes value = {m->value, m->value_length};
    int rc = decode(&s->decoder, s->n, &value, e);
    if (!rc)
        rc = data_table_add(s->table, value, e);
    s->n->unreadable += rc == -(int)FIS_INPUT;
    if (rc && rc != -(int)FIS_INPUT)
        return rc;
    return ++s->n->sampled == SAMPLE;
}

int init_sample(struct init *n, struct cli *c, struct fis_error *e)
{
    struct sampling s = {.n = n};
    struct fis_error late;
    int rc = cli_connect(c, e);
    s.table = rc ? NULL : data_table_begin(e);
    if (!s.table)
        return -(int)e->kind;
    rc = open_decoder(&s.decoder, n, c, e);
    if (!rc)
        rc = topic_reader_all(c, n->o->stream, take, &s, e);
    close_decoder(&s.decoder);
    n->looked = true;
    if (rc < 0)
        data_table_discard(s.table);
    else
        n->stream = data_table_end(s.table, &late); /* NULL: no record could be read */
    return rc < 0 ? rc : 0;
}
