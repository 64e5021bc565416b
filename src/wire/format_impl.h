/* Inside formats: the text that a record is written to, and the kinds. */
#ifndef WIRE_FORMAT_IMPL_H
#define WIRE_FORMAT_IMPL_H

#include <jansson.h>

#include "wire/format.h"

/* A text of bounded length, in an arena. Once something did not fit it is `full`, and nothing more
 * is written: loops look at it. */
struct format_text {
    char *begin, *at, *end;
    bool full;
};

void format_put(struct format_text *t, const void *bytes, size_t n);
void format_put_char(struct format_text *t, char c);
void format_put_string(struct format_text *t, const char *text, size_t n); /* UTF-8, in quotes */
void format_put_base64(struct format_text *t, const void *bytes, size_t n);
void format_put_int(struct format_text *t, int64_t n);
void format_put_unsigned(struct format_text *t, uint64_t n);
void format_put_double(struct format_text *t, double x);
void format_put_float(struct format_text *t, float x);
/* A big-endian two's complement number of n bytes, over 10^scale. False: more than
 * FORMAT_DECIMAL_BYTES, or digits behind the point than that has. */
#define FORMAT_DECIMAL_BYTES 32u
#define FORMAT_SCALE_MAX 76u
bool format_put_decimal(struct format_text *t, const unsigned char *bytes, size_t n,
                        uint32_t scale);

struct avro_plan;
int avro_plan_new(struct avro_plan **out, const struct wire_format_text *texts, uint32_t n,
                  struct fis_error *e) FIS_MUST_CHECK;
void avro_plan_free(struct avro_plan *p);
int avro_plan_json(const struct avro_plan *p, struct wire_bytes datum, struct format_text *t,
                   struct fis_error *e) FIS_MUST_CHECK;

struct proto_plan;
int proto_plan_new(struct proto_plan **out, const struct wire_format_text *texts, uint32_t n,
                   struct fis_error *e) FIS_MUST_CHECK;
void proto_plan_free(struct proto_plan *p);
/* inside: with the path of the message before it. The arena: for the work. */
int proto_plan_json(const struct proto_plan *p, struct wire_bytes inside, struct fis_arena *arena,
                    struct format_text *t, struct fis_error *e) FIS_MUST_CHECK;

#endif
