/* SHA-256 and HMAC against the examples of FIPS 180-4 and RFC 4231. */
#include "kit/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

static void assert_bytes(const unsigned char found[SHA256_BYTES], const char *expected)
{
    char text[2 * SHA256_BYTES + 1];
    for (int i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", found[i]);
    assert_string_equal(text, expected);
}

static void digests(void **state)
{
    static const char long_one[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    unsigned char out[SHA256_BYTES];
    struct sha256 s;
    (void)state;
    sha256_begin(&s);
    sha256_end(&s, out);
    assert_bytes(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_begin(&s);
    sha256_add(&s, long_one, 20); /* in two pieces */
    sha256_add(&s, long_one + 20, strlen(long_one) - 20);
    sha256_end(&s, out);
    assert_bytes(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    sha256_begin(&s);
    for (int i = 0; i < 100000; i++)
        sha256_add(&s, "aaaaaaaaaa", 10);
    sha256_end(&s, out);
    assert_bytes(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void codes(void **state)
{
    unsigned char out[SHA256_BYTES], key[131];
    (void)state;
    hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out);
    assert_bytes(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key); /* longer than a block */
    static const char text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    hmac_sha256(key, sizeof key, text, strlen(text), out);
    assert_bytes(out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(digests), cmocka_unit_test(codes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
