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
    SEED("protobuf-scalars",
         "psyntax = \"proto3\"; message R { double a = 1; float b = 2; sint32 c = 3; "
         "string d = 4; bytes e = 5; bool f = 6; fixed64 g = 7; }"
         "\x1e\0\x09\0\0\0\0\0\0\xf8\x3f\x15\0\0\x80\x3f\x18\3\x22\2hi\x2a\1\xff\x30\1"),
    SEED("protobuf-structure",
         "psyntax = \"proto3\"; message R { R a = 1; repeated int32 b = 2; map<string, R> c "
         "= 3; enum E { Z = 0; O = 1; } E d = 4; oneof x { int32 e = 5; } }"
         "\x1e\0\x0a\2\x20\1\x12\2\1\2\x1a\5\x0a\1k\x12\0\x28\5"),
    SEED("protobuf-import",
         "ppackage c; message Money { optional int64 v = 1; }\x1eimport \"a.proto\"; message R "
         "{ optional c.Money m = 1; optional google.protobuf.DoubleValue w = 2; }"
         "\x1e\0\x0a\2\x08\5\x12\x09\x09\0\0\0\0\0\0\xf0\x3f"),
    SEED("protobuf-text",
         "p// c\n/* d */ option (o) = { a: \"}\" }; service S { rpc F (R) returns (R) {} }\n"
         "message A { } message R { reserved 2 to max; message In { int32 v = 1 [x = \"]\"]; } "
         "In a = 1; }\x1e\2\2\x0a\2\x08\1"),
    SEED("avro-namespaces", "a{\"type\":\"record\",\"name\":\"x.R\",\"fields\":[" F(
                                "a", "{\"type\":\"record\",\"name\":\"In\",\"fields\":[" F(
                                         "b", "\"int\"") "]}") "," F("c", "\"In\"") "]}\x1e\2\4"),
};

void seeds_format(void)
{
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        seed_write("format", seeds[i].name, seeds[i].text, seeds[i].length);
}
