/* The first records of a topic, as fisctl init looks at them. */
#include "cli/init_impl.h"

#include "cli/topic_reader.h"
#include "wire/framing.h"

enum { SAMPLE = 5000, SILENCE_MS = 15000 };

static int take(struct init *n, struct data_table_builder *b, const struct stream_message *m,
                struct fis_error *e)
{
    struct wire_bytes value = {m->value, m->value_length};
    const struct wire_framing frame = {.kind = WIRE_FRAMING_CONFLUENT};
    struct fis_error none;
    n->sampled++;
    if (value.length && *(const unsigned char *)value.data == 0 &&
        !wire_unframe_json(&value, &frame, "records", &none))
        n->framed = true;
    int rc = value.data ? data_table_add(b, value, &none) : -(int)FIS_INPUT;
    n->unreadable += rc == -(int)FIS_INPUT;
    return rc && rc != -(int)FIS_INPUT ? fis_fail(e, none.kind, "%s", none.text) : 0;
}

static int read_all(struct init *n, struct cli *c, struct data_table_builder *b,
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
            rc = take(n, b, &m, e);
            until = cli_now_ms() + SILENCE_MS;
        }
    }
    return rc;
}

int init_sample(struct init *n, struct cli *c, struct fis_error *e)
{
    struct topic_reader r = {0};
    struct fis_error late;
    int rc = cli_connect(c, e);
    struct data_table_builder *b = rc ? NULL : data_table_begin(e);
    if (!b)
        return -(int)e->kind;
    rc = topic_reader_open(&r, c, &n->o->stream, 1, e);
    if (!rc)
        rc = read_all(n, c, b, &r, e);
    topic_reader_close(&r);
    n->looked = true;
    if (rc)
        data_table_discard(b);
    else
        n->stream = data_table_end(b, &late); /* NULL: no record could be read */
    return rc;
}
