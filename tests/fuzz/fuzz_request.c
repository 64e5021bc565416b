/*
 * Label requests as fisctl shows them to a person. The first byte: 'j' JSON, 'p' protobuf; then a
 * message as in common.h. What is printed has lines of text in it, and nothing that a terminal
 * could take for an order.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

#include "cli/request_view.h"
#include "wire/json_arena.h"
#include "base/utf8.h"

static void check_line(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c != '\n' &&
            (c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[i + 1] < 0xa0)))
            FUZZ_FAIL("byte %zu is a control character: %.*s", i, (int)length, text);
    }
    if (utf8_prefix(text, length) < length)
        FUZZ_FAIL("not UTF-8: %.*s", (int)length, text);
}

static void check_printed(const struct wire_request_shown *r, int columns)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    FUZZ_HOLDS(out);
    request_print(r, columns, out);
    FUZZ_HOLDS(fclose(out) == 0 && length > 0);
    check_line(text, length);
    free(text);
}

static void try(struct cli *c, const struct fuzz_message *m)
{
    struct wire_request_shown r;
    struct fis_error e = {0};
    int rc = request_read(c, &m->message, 1, &r, &e);
    fuzz_check_result(rc, &e);
    FUZZ_HOLDS(rc <= 1 && (rc != 0 || !m->message.value.data));
    if (rc == 1) {
        FUZZ_HOLDS(r.id.length > 0 && r.votes >= 1);
        check_line(r.criterion, strlen(r.criterion));
        check_line(r.reason, strlen(r.reason));
        /* Of an empty record nothing is printed. */
        if (!r.record || json_object_size(r.record))
            check_printed(&r, 40);
    }
    wire_request_shown_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char names[FUZZ_COLUMNS][3] = {"f0", "f1", "f2", "f3"};
    static struct config_column columns[FUZZ_COLUMNS] = {
        {.name = names[0]}, {.name = names[1]}, {.name = names[2]}, {.name = names[3]}};
    static struct cli c;
    struct fuzz_input in = {data, size};
    struct fuzz_message m;
    if (!c.cfg.columns.count)
        wire_json_init();
    c.cfg.columns = (struct config_columns){FUZZ_COLUMNS, columns};
    c.labels_encoding = fuzz_byte(&in) == 'p' ? WIRE_PROTOBUF : WIRE_JSON;
    fuzz_message_take(&m, in);
    try(&c, &m);
    fuzz_message_done(&m);
    return 0;
}
