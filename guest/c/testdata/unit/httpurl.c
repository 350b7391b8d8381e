/*
 * Tests of the parts of the HTTP driver that read URLs: prefixes, requests' URLs, addresses. Blocks are as in http.c.
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

        check_number(tests[i].text, "result",
                     http_prefix_read(&prefix, (uint16_t *)block, (uint32_t)(length / sizeof(WCHAR))), tests[i].want);
        check_number(tests[i].text, "kind", prefix.kind, tests[i].want == PREFIX_OK ? tests[i].kind : prefix.kind);
        check_number(tests[i].text, "port", prefix.port, tests[i].port);
        http_prefix_free(&prefix);
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
    int result = http_head_read(block, (uint32_t)length, &scanned, &head);

    memset(cooked, 0, sizeof(*cooked));
    if (result == HEAD_DONE)
        result = http_cook(cooked, block, &head, &here, 8080);
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

        http_prefix_read(&prefix, (uint16_t *)text, (uint32_t)wcslen(text));
        cook_of(tests[i].url, tests[i].host, &cooked);
        check_number(tests[i].prefix, tests[i].url, http_prefix_fit(&prefix, &cooked, &here, 8080, &host_fits),
                     tests[i].want);
        check_number(tests[i].prefix, "host", host_fits, tests[i].host_fits);
        http_prefix_free(&prefix);
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
        int is = ipaddress_read(&address, block, (uint32_t)strlen(tests[i].text));

        check_number(tests[i].text, "is one", is, tests[i].want != NULL);
        if (is)
        {
            out[ipaddress_write(&address, out)] = 0;
            check_text(tests[i].text, "text", out, tests[i].want ? tests[i].want : "");
        }
        free(block);
    }
}

int main(void)
{
    test_prefixes();
    test_cooking();
    test_fits();
    test_addresses();
    return checks_end();
}
