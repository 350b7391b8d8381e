/*
 * Tests of the parts of the HTTP driver that read what comes from the network: heads, bodies, URLs. Each text lies in a
 * block of its own size, so that the sanitizer finds a look beyond its end.
 */
#include "parse.h"
#include "url.h"
#include "memory.h"

#include <stdlib.h>
#include <stdio.h>

#include "check.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

void *memory_new(size_t size)
{
    return calloc(1, size);
}

void memory_free(void *block)
{
    free(block);
}

static char *copy(const void *text, size_t length)
{
    char *block = malloc(length ? length : 1);

    memcpy(block, text, length);
    return block;
}

static int head_of(const char *text, size_t length, struct head *head)
{
    uint32_t scanned = 0;
    char *block = copy(text, length);
    int result = head_read(block, (uint32_t)length, &scanned, head);

    free(block);
    return result;
}

static void test_heads(void)
{
    static const struct
    {
        const char *text;
        int want;
    } tests[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", HEAD_DONE},
        {"GET / HTTP/1.1\r\nHost: a\r\n\r", HEAD_MORE},
        {"GET / HTTP/1.0\r\n\r\n", HEAD_DONE},
        {"GET / HTTP/1.1\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", BAD_REQUEST},
        {"GET /\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/11\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", BAD_VERSION},
        {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", BAD_REQUEST},
        {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", BAD_REQUEST},
        {"\x16\x03\x01", BAD_REQUEST},
        {" GET", BAD_REQUEST},
        {"G", HEAD_MORE},
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", BAD_REQUEST},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: a\x01\r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", HEAD_DONE},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", HEAD_DONE},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n", HEAD_DONE},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", NOT_IMPLEMENTED},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", BAD_REQUEST},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", BAD_REQUEST},
    };
    struct head head;
    char *large;
    int length;

    for (unsigned i = 0; i < COUNT(tests); i++)
        check_number(tests[i].text, "result", head_of(tests[i].text, strlen(tests[i].text), &head), tests[i].want);
    large = malloc(100000);
    memset(large, 'a', 100000);
    check_number("100 kB without an end", "result", head_of(large, 100000, &head), BAD_REQUEST);
    check_number("no end yet", "result", head_of(large, MAX_HEAD - 1, &head), HEAD_MORE);
    length = sprintf(large, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    memset(large + length, 'a', 99000);
    memcpy(large + 99990, "\r\n\r\n", 4);
    check_number("a header of 100 kB", "result", head_of(large, 99994, &head), BAD_REQUEST);
    free(large);
}

static void test_lines(void)
{
    static const char text[] = "POST /a?b HTTP/1.1\r\nhost:  x:1 \r\nConnection: Upgrade , keep-alive\r\nExpect: 100-Continue\r\nX-Y:\r\n\r\n";
    struct head head;
    struct line line;
    uint32_t at, n = 0;

    check_number("lines", "result", head_of(text, sizeof(text) - 1, &head), HEAD_DONE);
    check_number("lines", "length", head.length, sizeof(text) - 1);
    check_number("lines", "host", head.host_length == 3 && !memcmp(text + head.host, "x:1", 3), 1);
    check_number("lines", "keep-alive", head.keep_alive && !head.close && head.expects_continue, 1);
    for (at = head.headers; head_line(text, &head, &at, &line); n++)
        if (n == 3)
            check_number("lines", "empty value", line.name_length == 3 && !line.value_length, 1);
    check_number("lines", "count", n, 4);
    check_number("lines", "User-Agent", header_known("user-agent", 10), 40);
    check_number("lines", "X-Y", header_known("X-Y", 3), -1);
    check_number("lines", "Host of 3", header_known("Hos", 3), -1);
    check_number("lines", "SEARCH", method_known("SEARCH", 6), 19);
    check_number("lines", "get", method_known("get", 3), 1);
}

/* Reads a body that comes in pieces of step bytes; what is left of the text is after the body. */
static int body_of(const char *text, size_t length, size_t step, int chunked, uint64_t announced, char *out, size_t *written)
{
    struct head head = {.chunked = (uint8_t)chunked, .has_length = !chunked, .content_length = announced};
    struct body body;
    size_t at = 0, come = 0;

    *written = 0;
    body_start(&body, &head);
    while (!body.bad && !body_ended(&body) && (come < length || at < come))
    {
        size_t used, n;
        char *block;

        come = come + step < length ? come + step : length;
        block = copy(text + at, come - at);
        n = body_read(&body, (const uint8_t *)block, come - at, &used, (uint8_t *)out + *written, 3);
        free(block);
        at += used;
        *written += n;
        if (!n && !used && come == length)
            break;
    }
    return body.bad ? -1 : body_ended(&body) ? (int)(length - at) : -2;
}

static void test_bodies(void)
{
    static const struct
    {
        const char *text;
        int chunked;
        uint64_t length;
        int want; /* bytes after it, -1: malformed, -2: not at its end */
        const char *body;
    } tests[] = {
        {"hello", 0, 5, 0, "hello"},
        {"hello, world", 0, 5, 7, "hello"},
        {"hell", 0, 5, -2, "hell"},
        {"", 0, 0, 0, ""},
        {"5\r\nhello\r\n0\r\n\r\n", 1, 0, 0, "hello"},
        {"005;a=\"b\"\r\nhello\r\n1 \r\n,\r\n00\r\nA: b\r\nC: d\r\n\r\nGET", 1, 0, 3, "hello,"},
        {"A\r\n0123456789\r\n0\r\n\r\n", 1, 0, 0, "0123456789"},
        {"0\r\n\r\n", 1, 0, 0, ""},
        {"0\r\n\r", 1, 0, -2, ""},
        {"5\r\nhel", 1, 0, -2, "hel"},
        {"5\nhello\r\n0\r\n\r\n", 1, 0, -1, ""},
        {"5\r\nhelloX\r\n0\r\n\r\n", 1, 0, -1, "hello"},
        {"-5\r\nhello", 1, 0, -1, ""},
        {"\r\nhello", 1, 0, -1, ""},
        {"0x5\r\nhello", 1, 0, -1, ""},
        {"10000000000000000\r\nhello", 1, 0, -1, ""}, /* 2^64 */
        {"ffffffffffffffff\r\nhello", 1, 0, -1, ""},
        {"fffffffffffffff\r\nhello", 1, 0, -2, "hello"},
        {"0\r\nA\n\r\n", 1, 0, -1, ""},
    };
    char *large = malloc(60000), out[64];
    size_t n;

    for (unsigned i = 0; i < COUNT(tests); i++)
        for (size_t step = 1; step < 30; step++)
        {
            check_number(tests[i].text, "rest", body_of(tests[i].text, strlen(tests[i].text), step, tests[i].chunked, tests[i].length, out, &n), tests[i].want);
            out[n] = 0;
            check_text(tests[i].text, "body", out, tests[i].body);
        }
    memset(large, 'a', 60000);
    memcpy(large, "5;", 2);
    check_number("an extension without an end", "rest", body_of(large, 60000, 1000, 1, 0, out, &n), -1);
    memcpy(large, "0\r\nA:", 5);
    check_number("trailers without an end", "rest", body_of(large, 60000, 1000, 1, 0, out, &n), -1);
    free(large);
}

static void test_prefixes(void)
{
    static const struct
    {
        const char *text;
        int want, kind, port;
    } tests[] = {
        {"http://+:80/", PREFIX_OK, PREFIX_STRONG, 80},
        {"http://*:8080/a/", PREFIX_OK, PREFIX_WEAK, 8080},
        {"HTTP://Example.org:80/", PREFIX_OK, PREFIX_HOST, 80},
        {"http://127.0.0.1:80/", PREFIX_OK, PREFIX_ADDRESS, 80},
        {"http://[::1]:80/", PREFIX_OK, PREFIX_ADDRESS, 80},
        {"http://[fe80::1%2]:80/", PREFIX_WRONG, 0, 0},
        {"https://+:443/", PREFIX_SECURE, 0, 0},
        {"http://+/", PREFIX_WRONG, 0, 0},
        {"http://+:/", PREFIX_WRONG, 0, 0},
        {"http://:80/", PREFIX_WRONG, 0, 0},
        {"http://+:0/", PREFIX_WRONG, 0, 0},
        {"http://+:65536/", PREFIX_WRONG, 0, 0},
        {"http://+:99999999999/", PREFIX_WRONG, 0, 0},
        {"http://+:80", PREFIX_WRONG, 0, 0},
        {"http://+:80/a", PREFIX_WRONG, 0, 0},
        {"http://a+:80/", PREFIX_WRONG, 0, 0},
        {"http://*.a:80/", PREFIX_WRONG, 0, 0},
        {"http://a:b:80/", PREFIX_WRONG, 0, 0},
        {"http://+:80/a?b/", PREFIX_WRONG, 0, 0},
        {"ftp://+:80/", PREFIX_WRONG, 0, 0},
        {"http:/", PREFIX_WRONG, 0, 0},
        {"", PREFIX_WRONG, 0, 0},
    };

    for (unsigned i = 0; i < COUNT(tests); i++)
    {
        WCHAR *text = wide(tests[i].text);
        size_t length = wcslen(text) * sizeof(WCHAR);
        char *block = copy(text, length);
        struct prefix prefix;

        check_number(tests[i].text, "result", prefix_read(&prefix, (uint16_t *)block, (uint32_t)(length / sizeof(WCHAR))), tests[i].want);
        check_number(tests[i].text, "kind", prefix.kind, tests[i].want == PREFIX_OK ? tests[i].kind : prefix.kind);
        check_number(tests[i].text, "port", prefix.port, tests[i].port);
        prefix_free(&prefix);
        free(block);
        free(text);
    }
}

static const struct address here = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7}};

static int cook_of(const char *url, const char *host, struct cooked *cooked)
{
    char text[512];
    int length = sprintf(text, host ? "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" : "GET %s HTTP/1.0\r\n\r\n", url, host);
    struct head head;
    char *block = copy(text, (size_t)length);
    uint32_t scanned = 0;
    int result = head_read(block, (uint32_t)length, &scanned, &head);

    memset(cooked, 0, sizeof(*cooked));
    if (result == HEAD_DONE)
        result = cook(cooked, block, &head, &here, 8080);
    free(block);
    return result;
}

static void test_cooking(void)
{
    static const struct
    {
        const char *url, *host, *want; /* NULL: refused */
    } tests[] = {
        {"/", "a", "http://a:8080/"},
        {"/", "a:30080", "http://a:30080/"},
        {"/", NULL, "http://10.0.0.7:8080/"},
        {"/", "", "http://10.0.0.7:8080/"},
        {"/a%20b/c?d%20e", "a", "http://a:8080/a b/c?d%20e"},
        {"/%c3%A4", "a", "http://a:8080/\u00e4"},
        {"/%e4", "a", "http://a:8080/\u00e4"},
        {"/%f0%9f%98%80", "a", "http://a:8080/\U0001f600"},
        {"/a/./b/../c", "a", "http://a:8080/a/c"},
        {"/../../a", "a", "http://a:8080/a"},
        {"/a/..", "a", "http://a:8080/"},
        {"/a/.", "a", "http://a:8080/a/"},
        {"/a/...", "a", "http://a:8080/a/..."},
        {"/a/%2e%2e/b", "a", "http://a:8080/b"},
        {"/a%5c..%5cb", "a", "http://a:8080/b"},
        {"//a", "a", "http://a:8080//a"},
        {"http://B:9/x?y", "a", "http://B:9/x?y"},
        {"http://b", "a", "http://b:8080/"},
        {"http://b?x", "a", "http://b:8080/?x"},
        {"*", "a", "http://a:8080*"},
        {"/", "[::1]:8080", "http://[::1]:8080/"},
        {"/", "[::1]", "http://[::1]:8080/"},
        {"/%", "a", NULL},
        {"/%2", "a", NULL},
        {"/%zz", "a", NULL},
        {"/%00", "a", NULL},
        {"a:443", "a", NULL},
        {"http://", "a", NULL},
        {"/", "a:b", NULL},
        {"/", "a/b", NULL},
        {"/", "a b", NULL},
        {"/", ":80", NULL},
    };

    for (unsigned i = 0; i < COUNT(tests); i++)
    {
        struct cooked cooked;
        int result = cook_of(tests[i].url, tests[i].host, &cooked);

        check_number(tests[i].url, "result", result, tests[i].want ? HEAD_DONE : BAD_REQUEST);
        if (result == HEAD_DONE)
            check_wide(tests[i].url, "URL", cooked.text, tests[i].want);
        free(cooked.text);
    }
}

static void test_fits(void)
{
    static const struct
    {
        const char *prefix, *url, *host;
        int host_fits;
        unsigned want;
    } tests[] = {
        {"http://+:8080/", "/a", "a", 1, 1},       {"http://+:80/", "/a", "a", 0, 0},
        {"http://+:8080/a/", "/a", "a", 1, 3},     {"http://+:8080/a/", "/A/b", "a", 1, 3},
        {"http://+:8080/a/", "/ab", "a", 1, 0},    {"http://+:8080/a/", "/", "a", 1, 0},
        {"http://X.y:8080/", "/", "x.Y:1", 1, 1},  {"http://x.y:8080/", "/", "x.z", 0, 0},
        {"http://x.y:8080/", "/", "x.yy", 0, 0},   {"http://10.0.0.7:8080/", "/", "other", 1, 1},
        {"http://10.0.0.8:8080/", "/", "a", 0, 0}, {"http://+:8080/a/b/", "/a/%62/../b/c", "a", 1, 5},
        {"http://*:8080/", "*", "a", 1, 1},        {"http://localhost:8080/", "/", "a", 0, 0},
    };

    for (unsigned i = 0; i < COUNT(tests); i++)
    {
        WCHAR *text = wide(tests[i].prefix);
        struct prefix prefix;
        struct cooked cooked;
        int host_fits;

        prefix_read(&prefix, (uint16_t *)text, (uint32_t)wcslen(text));
        cook_of(tests[i].url, tests[i].host, &cooked);
        check_number(tests[i].prefix, tests[i].url, prefix_fit(&prefix, &cooked, &here, 8080, &host_fits), tests[i].want);
        check_number(tests[i].prefix, "host", host_fits, tests[i].host_fits);
        prefix_free(&prefix);
        free(cooked.text);
        free(text);
    }
}

static void test_addresses(void)
{
    static const struct
    {
        const char *text, *want; /* NULL: it is none */
    } tests[] = {
        {"127.0.0.1", "127.0.0.1"},
        {"255.0.30.4", "255.0.30.4"},
        {"[::]", "[0:0:0:0:0:0:0:0]"},
        {"[2001:db8::A:1]", "[2001:db8:0:0:0:0:a:1]"},
        {"[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7:8]"},
        {"[::ffff:1.2.3.4]", "1.2.3.4"},
        {"[1::]", "[1:0:0:0:0:0:0:0]"},
        {"256.0.0.1", NULL},
        {"1.2.3", NULL},
        {"1.2.3.4.5", NULL},
        {"[1:2]", NULL},
        {"[1::2::3]", NULL},
        {"[1:2:3:4:5:6:7:8:9]", NULL},
        {"[12345::]", NULL},
        {"[:1]", NULL},
        {"[1:]", NULL},
        {"[]", NULL},
    };

    for (unsigned i = 0; i < COUNT(tests); i++)
    {
        struct address address;
        char *block = copy(tests[i].text, strlen(tests[i].text)), out[64];
        int is = address_read(&address, block, (uint32_t)strlen(tests[i].text));

        check_number(tests[i].text, "is one", is, tests[i].want != NULL);
        if (is)
        {
            out[address_write(&address, out)] = 0;
            check_text(tests[i].text, "text", out, tests[i].want ? tests[i].want : "");
        }
        free(block);
    }
}

/* Requests that are nearly right: nothing may be read or written beyond the blocks. */
static void test_mutations(void)
{
    static const char *const seeds[] = {
        "GET /a/../b?c HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close, keep-alive\r\nContent-Length: 12\r\nX: y\r\n\r\n",
        "POST http://a:1/%41%c3%a4/.. HTTP/1.0\r\nExpect: 100-continue\r\nCookie: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5;x=y\r\nhello\r\n0a\r\n0123456789\r\n0\r\nA: b\r\n\r\n",
        "http://[2001:db8::1]:8080/a/b/",
    };
    static const char alphabet[] = "\r\n\t :;,/%?.[]*+0159afAFzZ\x01\x7f\x80\xc3\xff";
    uint32_t random = 1;

    for (int round = 0; round < 60000; round++)
    {
        const char *seed = seeds[round % (int)COUNT(seeds)];
        size_t length = strlen(seed), n;
        char *block = copy(seed, length), out[128];
        uint16_t *wide_block;
        struct head head;
        struct prefix prefix;
        struct cooked cooked = {0};
        uint32_t scanned = 0;

        for (int i = 0; i < 1 + round % 4; i++)
        {
            random = random * 1103515245 + 12345;
            block[(random >> 8) % length] = alphabet[(random >> 20) % (sizeof(alphabet) - 1)];
        }
        random = random * 1103515245 + 12345;
        if (round % 3 == 0)
        {
            char *shorter = copy(block, length = 1 + (random >> 8) % length);

            free(block);
            block = shorter;
        }
        if (head_read(block, (uint32_t)length, &scanned, &head) == HEAD_DONE)
        {
            struct line line;
            uint32_t at = head.headers;

            while (head_line(block, &head, &at, &line))
                header_known(block + line.name, line.name_length);
            cook(&cooked, block, &head, &here, 80);
        }
        free(cooked.text);
        body_of(block, length, 1 + random % 7, 1, 0, out, &n);
        wide_block = malloc(length * sizeof(*wide_block));
        for (size_t i = 0; i < length; i++)
            wide_block[i] = (uint8_t)block[i];
        if (prefix_read(&prefix, wide_block, (uint32_t)length) == PREFIX_OK)
            prefix_free(&prefix);
        free(wide_block);
        free(block);
    }
}

int main(void)
{
    test_heads();
    test_lines();
    test_bodies();
    test_prefixes();
    test_cooking();
    test_fits();
    test_addresses();
    test_mutations();
    return checks_end();
}
