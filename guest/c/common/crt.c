/*
 * The few functions of the C library that the shims need, so that a library which every process loads does not load a C
 * runtime. Compile with -fno-tree-loop-distribute-patterns, or the compiler turns these loops into calls of themselves.
 */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    void *d = to;

    __asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(n) : : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    unsigned char *d = to;
    const unsigned char *s = from;

    if (d <= s)
        while (n--)
            *d++ = *s++;
    else
        while (n--)
            d[n] = s[n];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    for (unsigned char *d = to; n > 0; n--)
        *d++ = (unsigned char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    for (const unsigned char *p = a, *q = b; n > 0; n--, p++, q++)
        if (*p != *q)
            return *p - *q;
    return 0;
}

size_t strlen(const char *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n > 0; n--, a++, b++)
        if (*a != *b || !*a)
            return (unsigned char)*a - (unsigned char)*b;
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, (size_t)-1);
}

char *strcat(char *restrict to, const char *restrict from)
{
    memcpy(to + strlen(to), from, strlen(from) + 1);
    return to;
}

char *strstr(const char *in, const char *what)
{
    size_t n = strlen(what);

    for (; *in; in++)
        if (!strncmp(in, what, n))
            return (char *)in;
    return n ? NULL : (char *)in;
}

char *strchr(const char *in, int what)
{
    for (; *in != (char)what; in++)
        if (!*in)
            return NULL;
    return (char *)in;
}

size_t wcslen(const wchar_t *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
}

int wcsncmp(const wchar_t *a, const wchar_t *b, size_t n)
{
    for (; n > 0; n--, a++, b++)
        if (*a != *b || !*a)
            return *a - *b;
    return 0;
}
