/* The first records of a topic, as fisctl init looks at them. */
#include "cli/init_impl.h"

#include "cli/schemas.h"
#include "cli/topic_reader.h"
#include "fis/mem.h"
#include "wire/framing.h"
#include "wire/json_arena.h"

enum { SAMPLE = 5000, SILENCE_MS = 15000, REGISTRY_MS = 5000, RECORD_BYTES = 1 << 20 };

/* What reads the records by their schemas; all 0 without --registry. */
struct decoder {
    struct cli_schemas schemas;
    struct fis_arena arena;
};

static int open_decoder(struct decoder *d, struct init *n, struct cli *c, struct fis_error *e)
{
    struct config_registry *r = &c->cfg.records.registry;
    if (!n->o->registry)
        return 0;
    r->url = fis_strdup(n->o->registry);
    r->timeout = REGISTRY_MS;
    d->arena = (struct fis_arena){.size = WIRE_JSON_PER_BYTE * RECORD_BYTES};
    d->arena.base = fis_alloc(d->arena.size, 1);
    if (!r->url || !d->arena.base)
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

static int take(struct init *n, struct decoder *d, struct data_table_builder *b,
                const struct stream_message *m, struct fis_error *e)
{
    struct wire_bytes value = {m->value, m->value_length};
    n->sampled++;
    int rc = decode(d, n, &value, e);
    if (!rc)
        rc = data_table_add(b, value, e);
    n->unreadable += rc == -(int)FIS_INPUT;
    return rc == -(int)FIS_INPUT ? 0 : rc;
}

static int read_all(struct init *n, struct cli *c, struct decoder *d, struct data_table_builder *b,
                    struct topic_reader *r, struct fis_error *e)
{
    struct stream_message m;
    char why[300];
    int64_t until = cli_now_ms() + SILENCE_MS;
    int rc = 0;
    while (!rc && !r->ended && n->sampled < SAMPLE) {
        if (cli_stopping(c))
            return fis_fail(e, FIS_RETRY, "interrupted");
        if (cli_now_ms() >= until)
            return fis_fail(e, FIS_RETRY, "--stream %s: %s%s", n->o->stream,
                            r->last.kind ? r->last.text : "the broker does not answer in time",
                            cli_trouble(c, why));
        rc = topic_reader_next(r, 200, &m, e);
        if (rc > 0) {
            rc = take(n, d, b, &m, e);
            until = cli_now_ms() + SILENCE_MS;
        }
    }
    return rc;
}

int init_sample(struct init *n, struct cli *c, struct fis_error *e)
{
    struct topic_reader r = {0};
    struct decoder d = {0};
    struct fis_error late;
    int rc = cli_connect(c, e);
    struct data_table_builder *b = rc ? NULL : data_table_begin(e);
    if (!b)
        return -(int)e->kind;
    rc = open_decoder(&d, n, c, e);
    if (!rc)
        rc = topic_reader_open(&r, c, &n->o->stream, 1, e);
    if (!rc)
        rc = read_all(n, c, &d, b, &r, e);
    topic_reader_close(&r);
    close_decoder(&d);
    n->looked = true;
    if (rc)
        data_table_discard(b);
    else
        n->stream = data_table_end(b, &late); /* NULL: no record could be read */
    return rc;
}
