/* Seeds of what a client may say on a connection: requests of each kind, and what is refused. */
#include <string.h>

#include "seeds.h"

#define HOST "Host: localhost\r\n"
#define TOKEN "Authorization: Bearer token-of-Zq17-letters\r\n"
#define POST(path, length, body)                                                                   \
    "POST /api/v1/" path " HTTP/1.1\r\n" HOST TOKEN "Content-Length: " length "\r\n\r\n" body

static const struct {
    const char *name, *text;
} http[] = {
    {"page", "GET / HTTP/1.1\r\n" HOST "\r\n"},
    {"head", "HEAD /dashboard/style.css HTTP/1.1\r\n" HOST "\r\n"},
    {"none", "GET /nowhere?a=b&a HTTP/1.1\r\n" HOST "\r\n"},
    {"escapes", "GET /api/v1/commands/%41%zz%00%2F?x=%20+ HTTP/1.1\r\n" HOST "\r\n"},
    {"version", "GET /api/v1/versions/17 HTTP/1.0\r\n\r\n"},
    {"onnx", "GET /api/v1/models/17.onnx HTTP/1.0\r\n\r\n"},
    {"card", "GET /api/v1/models/served/card.md HTTP/1.0\r\n\r\n"},
    {"version-large",
     "GET /api/v1/versions/99999999999999999999 HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"},
    {"host", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
    {"method", "DELETE /api/v1/commands HTTP/1.1\r\n" HOST "\r\n"},
    {"pause", POST("pause", "0", "")},
    {"pause-by", POST("pause", "27", "{\"by\":\"me\",\"reason\":\"lunch\"}")},
    {"promote", POST("promote", "13", "{\"version\":3}")},
    {"promote-none", POST("promote", "2", "{}")},
    {"promote-large", POST("promote", "23", "{\"version\":1e300,\"by\":1}")},
    {"rollback-twice", POST("rollback", "25", "{\"version\":1,\"version\":2}")},
    {"cancel", POST("cancel", "20", "{\"id\":\"r-1\\u00e9\\n/x\"}")},
    {"cancel-array", POST("cancel", "2", "[]")},
    {"unknown", POST("pause", "11", "{\"what\":[]}")},
    {"cut", POST("pause", "30", "{\"by\":\"m")},
    {"no-token", "POST /api/v1/pause HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}"},
    {"other-token",
     "POST /api/v1/pause HTTP/1.1\r\n" HOST "Authorization: Bearer token-of-Zq17-letterz\r\n\r\n"},
    {"chunked", "POST /api/v1/pause HTTP/1.1\r\n" HOST TOKEN
                "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\nA: b\r\n\r\n"},
    {"too-long", POST("pause", "4097", "{}")},
    {"expect", "POST /api/v1/pause HTTP/1.1\r\n" HOST TOKEN
               "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}"},
    {"pipelined", "GET / HTTP/1.1\r\n" HOST "\r\nGET /api/v1/commands HTTP/1.1\r\n" HOST
                  "Connection: close\r\n\r\n"},
    {"folded", "GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n"},
    {"bare-lines", "GET / HTTP/1.1\nHost: 127.0.0.1\n\n"},
    {"nothing", "\r\n\r\n"},
};

void seeds_http(void)
{
    for (size_t i = 0; i < sizeof http / sizeof *http; i++)
        seed_write("http", http[i].name, http[i].text, strlen(http[i].text));
}
