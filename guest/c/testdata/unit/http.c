/*
 * Tests of the parts of the HTTP driver that read what comes from the network: heads and bodies (URLs: httpurl.c). Each
 * text lies in a block of its own size, so that the sanitizer finds a look beyond its end.
 */
#include "parse.h"
#include "url.h"
#include "memory.h"

#include <stdlib.h>
#include <stdio.h>

#include "check.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

void *http_memory_new(size_t size)
{
    return calloc(1, size);
}

void http_memory_free(void *block)
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
    int result = http_head_read(block, (uint32_t)length, &scanned, head);

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
    static const char text[] =
        "POST /a?b HTTP/1.1\r\nhost:  x:1 \r\nConnection: Upgrade , keep-alive\r\nExpect: 100-Continue\r\nX-Y:\r\n\r\n";
    struct head head;
    struct line line;
    uint32_t at, n = 0;

    check_number("lines", "result", head_of(text, sizeof(text) - 1, &head), HEAD_DONE);
    check_number("lines", "length", head.length, sizeof(text) - 1);
    check_number("lines", "host", head.host_length == 3 && !memcmp(text + head.host, "x:1", 3), 1);
    check_number("lines", "keep-alive", head.keep_alive && !head.close && head.expects_continue, 1);
    for (at = head.headers; http_head_line(text, &head, &at, &line); n++)
        if (n == 3)
            check_number("lines", "empty value", line.name_length == 3 && !line.value_length, 1);
    check_number("lines", "count", n, 4);
    check_number("lines", "User-Agent", http_header_known("user-agent", 10), 40);
    check_number("lines", "X-Y", http_header_known("X-Y", 3), -1);
    check_number("lines", "Host of 3", http_header_known("Hos", 3), -1);
    check_number("lines", "SEARCH", http_method_known("SEARCH", 6), 19);
    check_number("lines", "get", http_method_known("get", 3), 1);
}

/* Reads a body that comes in pieces of step bytes; what is left of the text is after the body. */
static int body_of(const char *text, size_t length, size_t step, int chunked, uint64_t announced, char *out,
                   size_t *written)
{
    struct head head = {.chunked = (uint8_t)chunked, .has_length = !chunked, .content_length = announced};
    struct body body;
    size_t at = 0, come = 0;

    *written = 0;
    http_body_start(&body, &head);
    while (!body.bad && !http_body_ended(&body) && (come < length || at < come))
    {
        size_t used, n;
        char *block;

        come = come + step < length ? come + step : length;
        block = copy(text + at, come - at);
        n = http_body_read(&body, (const uint8_t *)block, come - at, &used, (uint8_t *)out + *written, 3);
        free(block);
        at += used;
        *written += n;
        if (!n && !used && come == length)
            break;
    }
    return body.bad ? -1 : http_body_ended(&body) ? (int)(length - at) : -2;
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
            check_number(
                tests[i].text, "rest",
                body_of(tests[i].text, strlen(tests[i].text), step, tests[i].chunked, tests[i].length, out, &n),
                tests[i].want);
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

static const struct address here = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7}};

/* Requests that are nearly right: nothing may be read or written beyond the blocks. */
static void test_mutations(void)
{
    static const char *const seeds[] = {
        "GET /a/../b?c HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close, keep-alive\r\nContent-Length: 12\r\nX: y\r\n"
        "\r\n",
        "POST http://a:1/%41%c3%a4/.. HTTP/1.0\r\nExpect: 100-continue\r\nCookie: a\r\nTransfer-Encoding: chunked\r\n"
        "\r\n",
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
        if (http_head_read(block, (uint32_t)length, &scanned, &head) == HEAD_DONE)
        {
            struct line line;
            uint32_t at = head.headers;

            while (http_head_line(block, &head, &at, &line))
                http_header_known(block + line.name, line.name_length);
            http_cook(&cooked, block, &head, &here, 80);
        }
        free(cooked.text);
        body_of(block, length, 1 + random % 7, 1, 0, out, &n);
        wide_block = malloc(length * sizeof(*wide_block));
        for (size_t i = 0; i < length; i++)
            wide_block[i] = (uint8_t)block[i];
        if (http_prefix_read(&prefix, wide_block, (uint32_t)length) == PREFIX_OK)
            http_prefix_free(&prefix);
        free(wide_block);
        free(block);
    }
}

int main(void)
{
    test_heads();
    test_lines();
    test_bodies();
    test_mutations();
    return checks_end();
}
