/* Seeds in text: each shows one thing that the readers of JSON and CSV tell apart. */
#include <string.h>

#include "seeds.h"

struct seed {
    const char *name, *text;
};

/* kind, then how long the key is (none for 32 and its like: '@' is 64, a small arena; '\x03' with
 * "abc" behind it is a key). */
static const struct seed json[] = {
    {"record",
     "r\x03"
     "abc{\"id\":\"r-1\",\"age\":41.5,\"score\":-2,\"job\":\"clerk\",\"note\":\"by hand\"}"},
    {"record-missing", "r\x03"
                       "abc{\"age\":null,\"job\":\"n\xc3\xbcrse\"}"},
    {"record-unseen", "r\x03"
                      "abc{\"id\":17,\"age\":1e3,\"job\":\"\\u00e9\\ud83d\\ude00\"}"},
    {"record-mark", "r\x03"
                    "abc\xef\xbb\xbf{\"score\":0.1}"},
    {"record-unknown", "r\x03"
                       "abc{\"agee\":1}"},
    {"record-twice", "r\x03"
                     "abc{\"age\":1,\"age\":2}"},
    {"record-large", "r\x03"
                     "abc{\"score\":1e39}"},
    {"record-small-arena", "r\x43"
                           "abc{\"age\":1,\"score\":2,\"job\":\"driver\",\"note\":[1,2,3,4]}"},
    {"label-name", "l\x03"
                   "abc{\"id\":\"r-1\",\"label\":\"yes\"}"},
    {"label-index", "l\x03"
                    "abc{\"class_index\":1,\"label\":\"yes\"}"},
    {"label-votes", "l\x03"
                    "abc{\"label\":\"no\",\"annotator\":\"ann\",\"labelled_at_ms\":1700000000000}"},
    {"label-skipped", "l\x03"
                      "abc{\"id\":\"r-1\",\"status\":\"skipped\",\"annotator\":7}"},
    {"label-unsure", "l\x03"
                     "abc{\"status\":\"unsure\",\"label\":null}"},
    {"label-wrong", "l\x03"
                    "abc{\"label\":\"YES\"}"},
    {"label-wrong-kind", "l\x03"
                         "abc{\"label\":[true,1.0]}"},
    {"initial", "i\x03"
                "abc{\"id\":\"i-1\",\"age\":30,\"score\":1,\"job\":\"clerk\",\"hired\":\"no\"}"},
    {"initial-sensitive", "i\x03"
                          "abc{\"age\":30,\"hired\":\"no\",\"sex\":\"f\"}"},
    {"validation", "v\x03"
                   "abc{\"id\":\"v-1\",\"age\":30,\"score\":1,\"job\":\"clerk\",\"hired\":\"yes\","
                   "\"sex\":\"f\",\"race\":3}"},
    {"validation-hidden", "v\x03"
                          "abc{\"hired\":\"no\",\"sex\":\"Zq17\"}"},
    {"validation-shifted", "v\x03"
                           "abc{\"hired\":\"Zq17\",\"sex\":\"f\",\"race\":\"x\"}"},
    {"any", "p{\"a\":\"\\n\\u0001\xe2\x82\xac\",\"b\":-0.0,\"c\":1e-7,\"d\":[null,true,{}],\"e\":"
            "12345678901234567}"},
    {"any-deep", "p{\"a\":[[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]}"},
    {"any-broken", "p{\"a\":NaN}"},
    {"process",
     "s{\"name\":\"p-h-1\",\"pipeline\":\"p\",\"address\":\"http://h:1/\",\"alarms\":[\"drift\"],"
     "\"scorer\":{\"records\":7,\"records_per_second\":1.25,\"lag\":null},\"trainer\":{\"state\":"
     "\"lead\",\"leads\":true,\"leading\":{\"round\":3,\"asking\":{\"state\":\"window\"}}}}"},
    {"any-surrogate", "p{\"a\":\"\\ud800\"}"},
    {NULL, NULL},
};

static const struct seed csv[] = {
    {"wrong-delimiter", "c\0\5a;b;c\n1;2;3\n"},
    {"wrong-delimiter-quoted", "c\0\2\"a\" ;\"b\"\n1;2\n"},
    {"plain", "c\0\5a,b\n1,2\n3,\n"},
    {"quotes", "c\0\3a,\"b \"\"c\"\"\"\r\n\"1\n2\", 3 \r\n"},
    {"mark", "c\0\1\xef\xbb\xbf"
             "a\n1"},
    {"tabs", "c\1\7a\tb\r\n\r\n1\t\"2\"\r"},
    {"open-quote", "c\0\7a,b\n1,\"2\n3,4\n"},
    {"after-quote", "c\0\7a,b\n1,\"2\"3\n"},
    {"inner-quote", "c\0\7a,b\n1,2\"3\n"},
    {"ragged", "c\0\7a,b\n1\n"},
    {"twice", "c\0\7"
              "a,a\n1,2\n"},
    {"number", "n-12.50e+3"},
    {"number-bare", "n.5"},
    {"number-large", "n1e400"},
    {"number-hex", "n0x1p3"},
    {"initial", "f\0id,age,score,job,hired\n1,30,1,clerk,no\n2,,2.5,driver,yes\n"},
    {"initial-twice", "f\0id,age,score,job,hired\n1,30,1,clerk,no\n1,31,1,clerk,no\n"},
    {"validation",
     "f\2id,age,score,job,hired,sex,race\n1,30,1,clerk,no,f,x\n2,31,1,clerk,yes,m,y\n"},
    {"validation-hidden", "f\2id,age,score,job,hired,sex,race\n1,30,1,clerk,no,Zq17,\n"},
    {"validation-shifted", "f\2id,age,score,job,hired,sex,race\n1,30,1,clerk,Zq17,f,no\n"},
    {"objects", "f\1id,age,job\n1,030.50,\"a \"\"b\"\"\"\n,x,\n"},
    {"lines-initial", "j\0{\"id\":1,\"age\":30,\"score\":1,\"job\":\"clerk\",\"hired\":\"no\"}\n\n"
                      "{\"age\":null,\"job\":\"driver\",\"hired\":\"yes\"}"},
    {"lines-validation", "j\2{\"age\":1,\"score\":2,\"job\":\"clerk\",\"hired\":\"no\",\"sex\":"
                         "\"f\",\"race\":\"x\"}\n"},
    {"lines-hidden", "j\2{\"age\":1,\"score\":2,\"job\":\"clerk\",\"hired\":\"no\",\"sex\":"
                     "\"Zq17\",\"race\":[]}\n"},
    {"lines-objects", "j\1{\"age\":1}\r\n {\"job\":\"\\u0000\"}\n[]\n"},
    {NULL, NULL},
};

/* The second byte of some is a NUL: it is not the end. */
static void write_all(const char *target, const struct seed *seeds)
{
    for (; seeds->name; seeds++) {
        size_t head = strlen(seeds->text);
        if (head == 1)
            head = 2 + strlen(seeds->text + 2);
        seed_write(target, seeds->name, seeds->text, head);
    }
}

void seeds_text(void)
{
    write_all("json", json);
    write_all("csv", csv);
}
