#include "daemon/context/dead_letter.h"
#include "wire/source.h"

#include <stdio.h>
#include <string.h>

/* What Kafka's framing and our headers take besides key and value, generously. */
#define OVERHEAD ((size_t)2048)
#define NUMBER 32

static size_t cut(size_t length, size_t room)
{
    return length < room ? length : room;
}

static struct stream_header number(const char *name, char text[NUMBER], long long value)
{
    int n = snprintf(text, NUMBER, "%lld", value);
    return (struct stream_header){name, text, (size_t)n};
}

int dead_letter_send(struct stream_producer *p, const char *topic, const struct wire_message *m,
                     const struct fis_error *why, size_t limit, uint64_t token, struct fis_error *e)
{
    char partition[NUMBER], offset[NUMBER], length[NUMBER], key_length[NUMBER];
    size_t room = limit == 0 ? SIZE_MAX : limit > OVERHEAD ? limit - OVERHEAD : 0;
    size_t key = cut(m->key.length, room), value = cut(m->value.length, room - key);
    const char *code = fis_error_code_name(why->code);
    struct stream_header headers[7] = {
        {"fis.error.topic", m->topic, strlen(m->topic)},
        number("fis.error.partition", partition, wire_source_partition(m->partition)),
        number("fis.error.offset", offset, m->offset),
        {"fis.error.reason", why->text, strlen(why->text)},
        {"fis.error.code", code, strlen(code)},
    };
    size_t n = 5;
    if (value < m->value.length)
        headers[n++] = number("fis.error.length", length, (long long)m->value.length);
    if (key < m->key.length)
        headers[n++] = number("fis.error.key_length", key_length, (long long)m->key.length);
    return stream_producer_send_headers(p, topic, -1, m->key.data, key, m->value.data, value,
                                        headers, n, token, e);
}

/* ---- what codes mean ------------------------------------------------------------------------- */

#define ANY (DEAD_RECORDS | DEAD_LABELS | DEAD_CANDIDATES | DEAD_CONTROL)
/* clang-format off */
static const struct {
    unsigned from; /* or of enum dead_letter_from */
    const char *meaning, *remedy;
} codes[FIS_ERROR_CODES] = {
    [FIS_CODE_MALFORMED] = {ANY,
        "Its bytes do not decode: not a JSON object (or a repeated key, NaN, truncation), not "
        "protobuf, a truncated frame.",
        "Check the writer's serializer, and `records.encoding` or `labels.encoding`."},
    [FIS_CODE_TOO_LONG] = {ANY,
        "Longer than allowed, or decoding would take too much memory.",
        "Raise `records.max_bytes` (of an image that has too many pixels `records.max_pixels`), or "
        "send less."},
    [FIS_CODE_NO_VALUE] = {DEAD_LABELS | DEAD_CONTROL,
        "A null value; it cannot withdraw an answer or a command.",
        "Send an answer with a status instead."},
    [FIS_CODE_BAD_ID] = {ANY,
        "No id, or an id that is too long, not UTF-8, or not a text.",
        "Send an id of 1 to 255 bytes of UTF-8, in the field or as the key."},
    [FIS_CODE_UNKNOWN_COLUMN] = {DEAD_RECORDS,
        "A column that is not configured.",
        "Correct its name, or list it in `columns`, `records.ignore` or `records.passthrough`; "
        "`records.unknown` decides for all."},
    [FIS_CODE_WRONG_TYPE] = {DEAD_RECORDS,
        "A text in a numeric column, or neither a text nor a number.",
        "Correct the source, or the column's `type`."},
    [FIS_CODE_WRONG_WIDTH] = {DEAD_RECORDS | DEAD_CANDIDATES,
        "Not the model's number of features; sparse: a repeated column, one out of range, or a "
        "different number of values. Candidates: from a scorer with another configuration.",
        "Send one number per column, in order (sparse: each nonzero entry once); give all "
        "processes the same configuration."},
    [FIS_CODE_NOT_FINITE] = {DEAD_RECORDS | DEAD_CANDIDATES,
        "A number that is NaN, infinite, or beyond float32; or numbers so large that the score is "
        "not finite.",
        "In JSON, send null for a missing number; standardise the column."},
    [FIS_CODE_UNKNOWN_CLASS] = {DEAD_LABELS,
        "The answer is not one of `classes`, or is missing.",
        "Make the labelling tool send the exact name of a class."},
    [FIS_CODE_CONTRADICTION] = {DEAD_LABELS,
        "The answer differs from an earlier one, or the message contains two different ones.",
        "The first counts. Ask the labellers: they disagree."},
    [FIS_CODE_NOT_ASKED] = {DEAD_LABELS,
        "A label that was not requested, or whose request is closed and forgotten.",
        "Check that the labelling tool writes to the right pipeline, and returns ids unchanged."},
    [FIS_CODE_BAD_IMAGE] = {DEAD_RECORDS,
        "An image that is broken, or of a kind that is not read (docs/images.md).",
        "The reason says what is wrong. Send PNG, JPEG, or raw bytes with their shape."},
    [FIS_CODE_BAD_FIELD] = {DEAD_LABELS | DEAD_CANDIDATES | DEAD_CONTROL,
        "Another field is missing or out of range: the annotator where several votes are required, "
        "a status, a time, a command's version. Candidates: they are another pipeline's.",
        "The reason names the field."},
    [FIS_CODE_UNKNOWN_SCHEMA] = {DEAD_RECORDS,
        "The registry has no schema with the record's id, or one that is not supported.",
        "The reason has the id: register the schema, correct `records.registry.url`, and send the "
        "record again."},
    [FIS_CODE_OTHER] = {0, "Anything else.", "Read the reason."},
};
/* clang-format on */

uint64_t dead_counts_sum(const struct dead_counts *c)
{
    uint64_t sum = 0;
    for (int i = 0; i < FIS_ERROR_CODES; i++)
        sum += c->n[i];
    return sum;
}

bool dead_letter_possible(enum dead_letter_from from, enum fis_error_code code)
{
    return (codes[code].from & from) != 0;
}

void dead_letter_write_markdown(FILE *out)
{
    static const char *const topics[] = {"records", "labels", "candidates", "control"};
    fputs("| code | on | meaning | action |\n|---|---|---|---|\n", out);
    for (int i = 1; i <= FIS_ERROR_CODES; i++) {
        int code = i % FIS_ERROR_CODES; /* "other" is the last */
        const char *between = "";
        fprintf(out, "| `%s` | ", fis_error_code_name((enum fis_error_code)code));
        for (unsigned t = 0; t < 4; t++) {
            if (!(codes[code].from & 1u << t))
                continue;
            fprintf(out, "%s%s", between, topics[t]);
            between = ", ";
        }
        fprintf(out, " | %s | %s |\n", codes[code].meaning, codes[code].remedy);
    }
}
