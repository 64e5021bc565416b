/* Initial and validation sets from files: encoder, features, labels, groups, ids. */

#include "kit/cmocka.h"

#include "data/examples.h"
#include "kit/base/folder.h"
#include "fis/mem.h"
#include "wire/json_arena.h"

static const struct fis_column columns[] = {
    {.name = "age", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "job", .type = FIS_CATEGORICAL},
};
static const char *const classes[] = {"no", "yes"};
static const char *const sensitive[] = {"group", "race"};
static const struct wire_schema schema = {.classes = classes,
                                          .n_classes = 2,
                                          .id_column = "id",
                                          .label_column = "hired",
                                          .sensitive = sensitive,
                                          .n_sensitive = 2,
                                          .max_bytes = 1 << 20};
enum { D = 1 + 4 };

static const char initial_csv[] = "id,age,job,hired,group\n"
                                  "a,1,clerk,no,SECRET\n"
                                  "b,2,nurse,yes,SECRET\n";

static int set_up(void **state)
{
    (void)state;
    wire_json_init();
    return make_folder();
}

static const char *const names[] = {"i.csv", "v.csv", "v.jsonl"};

static int tear_down(void **state)
{
    (void)state;
    return remove_folder(names, sizeof names / sizeof *names);
}

static struct data_source source(const char *path, int with_sensitive)
{
    return (struct data_source){.path = path,
                                .schema = &schema,
                                .columns = columns,
                                .n_columns = 2,
                                .with_sensitive = with_sensitive};
}

static struct fis_encoder *fit(const char *text)
{
    struct data_source s = source(put("i.csv", text), 0);
    struct fis_error e = {0};
    struct fis_encoder *enc = data_fit_encoder(&s, 10, &e);
    if (!enc)
        fail_msg("%s", e.text);
    return enc;
}

static int load(const char *name, const char *text, int with_sensitive, struct data_examples *x,
                struct fis_error *e)
{
    struct fis_encoder *enc = fit(initial_csv);
    struct data_source s = source(put(name, text), with_sensitive);
    int rc = data_examples_load(&s, enc, x, e);
    fis_encoder_free(enc);
    return rc;
}

static void id_is(const struct fis_id *id, const char *text)
{
    assert_int_equal(id->length, strlen(text));
    assert_memory_equal(id->bytes, text, strlen(text));
}

static void the_initial_set(void **state)
{
    (void)state;
    struct data_examples x;
    struct fis_error e = {0};
    assert_int_equal(load("v.csv", initial_csv, 0, &x, &e), 0);
    assert_int_equal(x.n, 2);
    assert_int_equal(x.d, D);
    static const float want[2][D] = {{1, 1, 0, 0, 0}, {2, 0, 1, 0, 0}};
    assert_memory_equal(x.x, want, sizeof want);
    assert_int_equal(x.labels[0], 0);
    assert_int_equal(x.labels[1], 1);
    id_is(&x.ids[1], "b");
    assert_null(x.groups);
    assert_int_equal(x.unseen[1], 0);
    data_examples_done(&x);
}

/* Groups are the intersections, numbered by their names whatever the order of the rows. */
static void the_validation_set(void **state)
{
    (void)state;
    struct data_examples x;
    struct fis_error e = {0};
    assert_int_equal(load("v.csv",
                          "race,group,hired,job,age\n"
                          "2,B,yes,pilot,7\n"
                          "1,B,no,,\n"
                          "2,A,no,clerk,1\n"
                          "2,B,no,clerk,1\n",
                          1, &x, &e),
                     0);
    assert_int_equal(x.names.n, 3);
    assert_string_equal(x.names.names[0], "A\x1f"
                                          "2");
    static const uint32_t groups[] = {2, 1, 0, 2};
    assert_memory_equal(x.groups, groups, sizeof groups);
    assert_int_equal(x.unseen[1], 1);
    static const float want[2][D] = {{7, 0, 0, 1, 0}, {0, 0, 0, 0, 1}};
    assert_memory_equal(x.x, want, sizeof want);
    id_is(&x.ids[0], "v.csv:2");
    id_is(&x.ids[3], "v.csv:5");
    data_examples_done(&x);

    assert_int_equal(load("v.jsonl",
                          "{\"id\":7,\"age\":1,\"job\":\"clerk\",\"hired\":\"no\",\"group\":\"A\","
                          "\"race\":1}\n",
                          1, &x, &e),
                     0);
    id_is(&x.ids[0], "7");
    assert_string_equal(x.names.names[0], "A\x1f"
                                          "1");
    data_examples_done(&x);
}

static void a_mark_changes_nothing(void **state)
{
    (void)state;
    static char marked[sizeof initial_csv + 3] = "\xef\xbb\xbf";
    memcpy(marked + 3, initial_csv, sizeof initial_csv);
    struct data_examples x, y;
    assert_int_equal(load("v.csv", initial_csv, 0, &x, NULL), 0);
    assert_int_equal(load("v.csv", marked, 0, &y, NULL), 0);
    assert_int_equal(y.n, x.n);
    assert_memory_equal(y.x, x.x, sizeof(float) * x.n * x.d);
    assert_int_equal(fis_id_compare(&x.ids[0], &y.ids[0]), 0);
    data_examples_done(&x);
    data_examples_done(&y);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *reason;
    } bad[] = {
        {"v.csv", "", "v.csv: no header"},
        {"v.csv", "age,job,hired,group,race\n", "v.csv: a header, but no row"},
        {"v.csv", "age,job,hired,group\n1,a,no,SECRET\n",
         "no column 'race' in the header (found: "},
        {"v.csv", "age,job,hired,group,race\n1,a,SECRET,SECRET,1\n",
         "line 2: column hired: not a class (allowed: \"no\", \"yes\")"},
        {"v.csv", "age,job,hired,group,race\n1,a,,SECRET,1\n", "line 2: column hired: no label"},
        {"v.csv", "age,job,hired,group,race\n1,a,no,SECRET,\n",
         "no row with all sensitive values"},
        {"v.csv",
         "age,job,hired,group,race\nSECRET,a,no,A,1\n1,a,maybe,A,1\nx,a,no,A,1\n1,a,no,A\x1f,1\n",
         "line 2: column age: a decimal number expected; also line 4"},
        {"v.csv", "age,job,hired,group,race\nSECRET,a,no,SECRET,1\n",
         "line 2: column age: a decimal"},
        {"v.csv", "age,job,hired,group,race\n1e39,a,no,SECRET,1\n",
         "v.csv: line 2: column age: 1e+39 does not fit a 32-bit float"},
        {"v.csv",
         "id,age,job,hired,group,race\nr1,1,a,no,SECRET,1\nr2,1,a,no,SECRET,1\n"
         "r1,1,a,no,SECRET,1\n",
         "v.csv: id \"r1\" is on line 2 and again on line 4"},
        {"v.jsonl", "{\"age\":1,\"job\":\"a\",\"hired\":1.5,\"group\":\"SECRET\",\"race\":1}\n",
         "v.jsonl: line 1: column hired: not a class"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct data_examples x;
        struct fis_error e = {0};
        int rc = load(bad[i].name, bad[i].text, 1, &x, &e);
        if (rc != -FIS_INPUT || !strstr(e.text, bad[i].reason))
            fail_msg("%d '%s', expected '%s'", rc, e.text, bad[i].reason);
        assert_null(strstr(e.text, "SECRET"));
    }
    struct data_source s = source(put("i.csv", "age,job\n1,a\n2,b\n3,c\n"), 0);
    struct fis_error e;
    assert_null(data_fit_encoder(&s, 2, &e));
    assert_non_null(strstr(e.text, "i.csv: line 4: column job: more than 2 categories"));
    put("i.csv", "age,job\n");
    assert_null(data_fit_encoder(&s, 2, &e));
    assert_non_null(strstr(e.text, "i.csv: no row"));
}

static char noted[4096];

static void note(void *ctx, bool fault, const char *text)
{
    (void)ctx;
    const char *base = strrchr(text, '/');
    snprintf(noted + strlen(noted), sizeof noted - strlen(noted), "%c %s\n", fault ? '!' : '-',
             base ? base + 1 : text);
}

static int load_noted(const char *name, const char *text, const struct wire_schema *with,
                      struct data_examples *x, struct fis_error *e)
{
    struct fis_encoder *enc = fit(initial_csv);
    struct data_source s = source(put(name, text), with->n_sensitive != 0);
    s.schema = with;
    s.note = note;
    noted[0] = 0;
    int rc = data_examples_load(&s, enc, x, e);
    fis_encoder_free(enc);
    return rc;
}

/* One reading names all that is wrong, by column. */
static void all_faults_at_once(void **state)
{
    (void)state;
    struct wire_schema initial = schema;
    struct data_examples x;
    struct fis_error e;
    initial.n_sensitive = 0;
    assert_int_equal(load_noted("i.csv",
                                "id,age,job,hired\na,\"1,041\",clerk,no\nb,NA,nurse,YES\n"
                                "c,3,nurse,yes\nc,$41,nurse,\nd,41.0%,nurse,yes\ne,1,,1.0\n"
                                "f,1,,no\ng,1,,no\nh,1e99,,no\n",
                                &initial, &x, &e),
                     -FIS_INPUT);
    assert_string_equal(
        noted,
        "! i.csv: line 2: column age: number expected, text \"1,041\" found (is it 1041?); "
        "also lines 3, 5, 6 and 1 more\n"
        "! i.csv: line 3: column hired: label \"YES\": not a class (allowed: \"no\", \"yes\"); "
        "also lines 5, 7\n"
        "! i.csv: column age: 5 of 9 cells are no number: is it type: categorical?\n");
    assert_non_null(strstr(e.text, "line 2: column age"));
}

/* A value that is missing by the list makes no group; it is left out, and counted. */
static void missing_sensitive_values_are_left_out(void **state)
{
    (void)state;
    static const char *const missing[] = {"NA", "nan", "?", "B"}; /* B is declared */
    static const char *const declared[] = {"group=A", "group=B", "race=1", "race=2"};
    struct wire_schema with = schema;
    struct data_examples x;
    struct fis_error e;
    with.missing = missing;
    with.n_missing = 4;
    with.declared = declared;
    with.n_declared = 4;
    assert_int_equal(load_noted("v.csv",
                                "age,job,hired,group,race\n1,a,no,A,1\n1,a,no, ?,1\n"
                                "1,a,yes,\" A\",1.0\n1,a,yes,nan,2\n1,a,yes,,2\n1,a,no,B,2\n",
                                &with, &x, &e),
                     0);
    assert_int_equal(x.n, 3);
    assert_int_equal(x.left_out, 3);
    assert_int_equal(x.names.n, 2);
    assert_int_equal(x.groups[0], x.groups[1]);
    assert_string_equal(noted, "- v.csv: line 3: left out, since a sensitive value is missing "
                               "(validation.missing); also lines 5, 6\n"
                               "- v.csv: validation.groups has group=A, race=2, and no row is in it\n"
                               "- v.csv: validation.groups has group=B, race=1, and no row is in it\n");
    data_examples_done(&x);
    assert_int_equal(load_noted("v.jsonl",
                                "{\"age\":1,\"hired\":\"no\",\"group\":\" A\",\"race\":1.0}\n"
                                "{\"age\":1,\"hired\":\"no\",\"group\":null,\"race\":1}\n"
                                "{\"age\":1,\"hired\":\"no\",\"group\":\"SECRET\",\"race\":1}\n",
                                &with, &x, &e),
                     -FIS_INPUT);
    assert_non_null(strstr(noted, "line 3: column group: a value that validation.groups does not"));
    assert_null(strstr(noted, "SECRET"));
}

/* 1 and 1.0 are one class, and that it is written otherwise is noted. */
static void labels_that_are_written_otherwise(void **state)
{
    (void)state;
    static const char *const digits[] = {"0", "1"};
    struct wire_schema with = schema;
    struct data_examples x;
    struct fis_error e;
    with.classes = digits;
    with.n_sensitive = 0;
    assert_int_equal(load_noted("i.csv", "age,job,hired\n1,a,1\n1,a,1.0\n1,a,0\n1,a,0.0\n", &with,
                                &x, &e),
                     0);
    static const uint32_t labels[] = {1, 1, 0, 0};
    assert_memory_equal(x.labels, labels, sizeof labels);
    assert_string_equal(noted, "- i.csv: line 3: column hired: a label of class \"1\" is written "
                               "otherwise; it is taken as that class; also line 5\n");
    data_examples_done(&x);
}

static void too_many_groups(void **state)
{
    (void)state;
    char *text = malloc(4096), *p = text;
    p += sprintf(p, "age,job,hired,group,race\n");
    for (int i = 0; i <= FIS_MAX_GROUPS; i++)
        p += sprintf(p, "1,a,no,%d,x\n", i);
    struct data_examples x;
    struct fis_error e;
    assert_int_equal(load("v.csv", text, 1, &x, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "line 66: column group: more than 64 groups"));
    free(text);
}

/* Many rows, so that the arrays grow; each row is still its own. */
static void many_rows(void **state)
{
    (void)state;
    enum { ROWS = 5000 };
    char *text = malloc(ROWS * 32 + 64), *p = text;
    p += sprintf(p, "id,age,job,hired,group,race\n");
    for (int i = 0; i < ROWS; i++)
        p += sprintf(p, "r%d,%d,clerk,%s,g%d,x\n", i, i, i % 3 ? "no" : "yes", i % 7);
    struct data_examples x;
    struct fis_error e = {0};
    assert_int_equal(load("v.csv", text, 1, &x, &e), 0);
    free(text);
    assert_int_equal(x.n, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        assert_true(x.x[i * D] == (float)i);
        assert_int_equal(x.labels[i], i % 3 == 0);
        assert_int_equal(x.groups[i], i % 7);
    }
    data_examples_done(&x);
}

static void survives_refused_memory(void **state)
{
    (void)state;
    struct fis_encoder *enc = fit(initial_csv);
    struct data_source i = source(put("i.csv", initial_csv), 0), v = i;
    char path[256];
    snprintf(path, sizeof path, "%s", i.path);
    i.path = path;
    v.path = put("v.csv", "age,job,hired,group,race\n1,a,no,A,1\n2,b,yes,B,1\n");
    v.with_sensitive = 1;
    for (uint64_t n = 0; n < 500; n++) {
        struct fis_error e = {0};
        struct data_examples x = {0};
        fis_mem_refuse_after(n);
        struct fis_encoder *again = data_fit_encoder(&i, 10, &e);
        int rc = again ? data_examples_load(&v, enc, &x, &e) : -1;
        fis_mem_refuse_after(UINT64_MAX);
        fis_encoder_free(again);
        data_examples_done(&x);
        if (again && rc == 0) {
            fis_encoder_free(enc);
            assert_true(n > 30);
            return;
        }
        assert_int_equal(e.kind, FIS_NOMEM);
    }
    fail_msg("never enough memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_initial_set),         cmocka_unit_test(the_validation_set),
        cmocka_unit_test(a_mark_changes_nothing),  cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(all_faults_at_once),
        cmocka_unit_test(missing_sensitive_values_are_left_out),
        cmocka_unit_test(labels_that_are_written_otherwise),
        cmocka_unit_test(too_many_groups),         cmocka_unit_test(many_rows),
        cmocka_unit_test(survives_refused_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
