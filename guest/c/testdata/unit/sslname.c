/* Tests of whether a certificate is for a name or an address (hooks/sslname.c). */
#include "sslname.h"

#include <stdlib.h>

#include "check.h"

/* Entries of a subjectAltName, one after the other: D is a name of DNS, I an address in hexadecimal digits. */
static SIZE_T encode(const char *names, BYTE *out)
{
    SIZE_T size = 2;

    while (*names)
    {
        BYTE kind = *names++ == 'D' ? 0x82 : 0x87, *length;

        out[size++] = kind;
        length = &out[size++];
        for (*length = 0; *names && *names != ' '; (*length)++)
        {
            char digits[3] = {names[0], names[1], 0};

            out[size++] = kind == 0x82 ? (BYTE)*names : (BYTE)strtoul(digits, NULL, 16);
            names += kind == 0x82 ? 1 : 2;
        }
        names += *names == ' ';
    }
    out[0] = 0x30;
    out[1] = (BYTE)(size - 2);
    return size;
}

/* Everything is on the heap, in blocks of its size, so that the sanitizer sees what is read beyond it. */
static BOOL matches(const BYTE *der, SIZE_T size, const char *host)
{
    SIZE_T length = strlen(host);
    BYTE *copy = malloc(size ? size : 1);
    char *name = malloc(length ? length : 1);
    struct bytes names = {copy, size};
    BOOL is;

    memcpy(copy, der, size);
    memcpy(name, host, length);
    is = ssl_name_matches(names, name, length);
    free(copy);
    free(name);
    return is;
}

static void test_names(void)
{
    static const struct
    {
        const char *names, *host;
        BOOL want;
    } rows[] = {
        {"Dexample.org", "example.org", TRUE},
        {"DExample.ORG", "eXample.org", TRUE},
        {"Dexample.org", "example.org.", TRUE},
        {"Dexample.org", "www.example.org", FALSE},
        {"Dexample.org", "xample.org", FALSE},
        {"Done.example Dtwo.example", "two.example", TRUE},
        {"D*.example.org", "www.example.org", TRUE},
        {"D*.example.org", "a.www.example.org", FALSE},
        {"D*.example.org", "example.org", FALSE},
        {"D*.example.org", ".example.org", FALSE},
        {"Dw*.example.org", "www.example.org", FALSE},
        {"D*w.example.org", "www.example.org", FALSE},
        {"Dwww.*.org", "www.example.org", FALSE},
        {"D*", "example", FALSE},
        {"D*.", "example.", FALSE},
        {"D*.*.org", "www.example.org", FALSE},
        {"Da_b.example", "a_b.example", TRUE},
        {"D-a.example", "-a.example", TRUE}, /* no names of DNS, but the same */
        {"Dxn--bcher-kva.example", "xn--bcher-kva.example", TRUE},
        {"D", "", FALSE},
        {"D.", ".", FALSE},
        {"Dexample.org", "", FALSE},
        {"I0a000001", "10.0.0.1", TRUE},
        {"I0a000001", "10.0.0.2", FALSE},
        {"I0a000001", "::ffff:10.0.0.1", TRUE},
        {"I00000000000000000000ffff0a000001", "10.0.0.1", TRUE},
        {"I20010db8000000000000000000000001", "2001:db8::1", TRUE},
        {"I20010db8000000000000000000000001", "[2001:DB8::1]", TRUE},
        {"I20010db8000000000000000000000001", "2001:db8::2", FALSE},
        {"I20010db8000000000000000000000001", "2001:db8::1%eth0", FALSE},
        {"I0a0000", "10.0.0.0", FALSE},
        {"D10.0.0.1", "10.0.0.1", FALSE},
        {"D2001:db8::1", "2001:db8::1", FALSE},
        {"I0a000001", "example.org", FALSE},
        {"I", "10.0.0.1", FALSE},
    };
    BYTE der[256];

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    {
        SIZE_T size = encode(rows[i].names, der);

        check_number(rows[i].names, rows[i].host, matches(der, size, rows[i].host), rows[i].want);
        for (SIZE_T cut = 0; cut < size; cut++)
            check_number(rows[i].names, "cut", matches(der, cut, rows[i].host), FALSE);
    }
}

/* A name that ends where a C string would is another name. */
static void test_hostile(void)
{
    static const BYTE nul[] = {0x30, 15, 0x82, 13, 'a', '.', 'b', 0, '.', 'e', 'v', 'i', 'l', '.', 'o', 'r', 'g'};
    static const BYTE foreign[] = {0x30, 5, 0x82, 3, 0xfc, '.', 'b'}, wrong[] = {0x31, 5, 0x82, 3, 'a', '.', 'b'};
    static const BYTE long_list[] = {0x30, 0x7f, 0x82, 3, 'a', '.', 'b'},
                      long_name[] = {0x30, 5, 0x82, 0x7f, 'a', '.', 'b'};
    char longest[1024];

    check_number("with a NUL", "before it", matches(nul, sizeof(nul), "a.b"), FALSE);
    check_number("other letters", "matches", matches(foreign, sizeof(foreign), "a.b"), FALSE);
    check_number("no sequence", "matches", matches(wrong, sizeof(wrong), "a.b"), FALSE);
    check_number("list too long", "matches", matches(long_list, sizeof(long_list), "a.b"), FALSE);
    check_number("name too long", "matches", matches(long_name, sizeof(long_name), "a.b"), FALSE);
    for (SIZE_T size = 0; size < sizeof(longest) - 1; size += 13)
    {
        memset(longest, size % 2 ? ':' : '1', size);
        longest[size] = 0;
        check_number("a long host", "matches", matches(nul, sizeof(nul), longest), FALSE);
    }
}

int main(void)
{
    test_names();
    test_hostile();
    return checks_end();
}
