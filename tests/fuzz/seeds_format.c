/* Schemas with a record each: what fuzz_format reads. */
#include "seeds.h"

#define R(fields)                                                                                  \
    "{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"a.b\",\"fields\":[" fields "]}"
#define F(name, type) "{\"name\":\"" name "\",\"type\":" type "}"

struct seed {
    const char *name, *text;
    size_t length;
};
#define SEED(name, text)                                                                           \
    {                                                                                              \
        name, text, sizeof(text) - 1                                                               \
    }

static const struct seed seeds[] = {
    SEED("avro-numbers",
         "a" R(F("a", "\"int\"") "," F("b", "\"long\"") "," F("c", "\"float\"") "," F(
             "d",
             "\"double\"") "," F("e",
                                 "\"boolean\"")) "\x1e\x53\x54\0\0\x80\x3f\0\0\0\0\0\0\xf0\x3f\1"),
    SEED("avro-texts",
         "a" R(F("a", "\"string\"") "," F("b", "\"bytes\"") "," F(
             "c", "{\"type\":\"fixed\",\"name\":\"X\",\"size\":2}")) "\x1e\x04hi\x04\xff\xfe"
                                                                     "ab"),
    SEED("avro-union",
         "a" R(F("a", "[\"null\",\"string\"]") "," F(
             "b", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}")) "\x1e\2\4hi\2"),
    SEED("avro-array",
         "a" R(F("a", "{\"type\":\"array\",\"items\":\"int\"}")) "\x1e\4\2\4\1\2\6\0"),
    SEED("avro-map", "a" R(F("a", "{\"type\":\"map\",\"values\":\"null\"}")) "\x1e\2\2k\0"),
    SEED("avro-decimal",
         "a" R(F("a", "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":"
                      "9,\"scale\":2}")) "\x1e\4\x04\xce"),
    SEED("avro-list", "a" R(F("v", "\"int\"") "," F("next", "[\"null\",\"R\"]")) "\x1e\2\2\4\0"),
    SEED("avro-references",
         "a{\"type\":\"fixed\",\"name\":\"o.F\",\"size\":1}\x1e" R(F("a", "\"o.F\"")) "\x1ex"),
    SEED("avro-namespaces", "a{\"type\":\"record\",\"name\":\"x.R\",\"fields\":[" F(
                                "a", "{\"type\":\"record\",\"name\":\"In\",\"fields\":[" F(
                                         "b", "\"int\"") "]}") "," F("c", "\"In\"") "]}\x1e\2\4"),
};

void seeds_format(void)
{
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        seed_write("format", seeds[i].name, seeds[i].text, seeds[i].length);
}
