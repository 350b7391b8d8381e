#include "url.h"

#include <string.h>

#include "memory.h"

static uint16_t lower(uint16_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint16_t)(c - 'A' + 'a') : c;
}

static int same(const uint16_t *a, const uint16_t *b, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        if (lower(a[i]) != lower(b[i]))
            return 0;
    return 1;
}

static int begins(const uint16_t *text, uint32_t length, const char *with)
{
    uint32_t i;

    for (i = 0; with[i]; i++)
        if (i >= length || lower(text[i]) != (uint8_t)with[i])
            return 0;
    return 1;
}

static uint16_t *lower_copy(const uint16_t *text, uint32_t length)
{
    uint16_t *copy = http_memory_new((length + 1) * sizeof(*copy));

    for (uint32_t i = 0; copy && i < length; i++)
        copy[i] = lower(text[i]);
    return copy;
}

/* The host of a prefix: what kind it is, and whether it can be one. */
static int read_host(struct prefix *prefix, const uint16_t *host, uint32_t length)
{
    char text[64];

    if (!length || length > 255)
        return 0;
    for (uint32_t i = 0; i < length; i++)
        if (host[i] <= ' ' || host[i] == 0x7f || (host[i] < 0x80 && strchr("/\\?#@\"<>%", (char)host[i])))
            return 0;
    prefix->kind = PREFIX_HOST;
    if (length == 1 && host[0] == '+')
        prefix->kind = PREFIX_STRONG;
    else if (length == 1 && host[0] == '*')
        prefix->kind = PREFIX_WEAK;
    else if (length < sizeof(text))
    {
        for (uint32_t i = 0; i < length; i++)
            text[i] = host[i] < 0x80 ? (char)host[i] : '?';
        if (ipaddress_read(&prefix->address, text, length))
            prefix->kind = PREFIX_ADDRESS;
    }
    if (prefix->kind == PREFIX_HOST)
        for (uint32_t i = 0; i < length; i++)
            if (strchr("+*[]:", host[i] < 0x80 ? (char)host[i] : 'x'))
                return 0;
    return 1;
}

enum prefix_result http_prefix_read(struct prefix *prefix, const uint16_t *text, uint32_t length)
{
    uint32_t host = 7, end, at, port = 0;

    memset(prefix, 0, sizeof(*prefix));
    if (begins(text, length, "https://"))
        return PREFIX_SECURE;
    if (!begins(text, length, "http://"))
        return PREFIX_WRONG;
    for (at = host; at < length && text[at] != '/'; at++)
        if (!text[at])
            return PREFIX_WRONG;
    if (at == length || text[length - 1] != '/')
        return PREFIX_WRONG;
    for (end = at; end > host && text[end] != ':' && text[end] != ']'; end--)
        ;
    if (text[end] != ':' || end + 1 == at || at - end > 6)
        return PREFIX_WRONG;
    for (uint32_t i = end + 1; i < at; i++)
    {
        if (text[i] < '0' || text[i] > '9')
            return PREFIX_WRONG;
        port = port * 10 + text[i] - '0';
    }
    if (!port || port > 65535 || !read_host(prefix, text + host, end - host))
        return PREFIX_WRONG;
    for (uint32_t i = at; i < length; i++)
        if (text[i] < ' ' || text[i] == '?' || text[i] == '*' || text[i] == '\\')
            return PREFIX_WRONG;
    prefix->port = (uint16_t)port;
    prefix->host_length = end - host;
    prefix->path_length = length - 1 - at;
    prefix->host = lower_copy(text + host, prefix->host_length);
    prefix->path = lower_copy(text + at, prefix->path_length);
    if (prefix->host && prefix->path)
        return PREFIX_OK;
    http_prefix_free(prefix);
    return PREFIX_NO_MEMORY;
}

void http_prefix_free(struct prefix *prefix)
{
    http_memory_free(prefix->host);
    http_memory_free(prefix->path);
    prefix->host = prefix->path = NULL;
}

int http_prefix_same(const struct prefix *a, const struct prefix *b)
{
    return a->kind == b->kind && a->port == b->port && a->host_length == b->host_length &&
           a->path_length == b->path_length && same(a->host, b->host, a->host_length) &&
           same(a->path, b->path, a->path_length);
}

uint32_t http_prefix_fit(const struct prefix *prefix, const struct cooked *cooked, const struct address *here,
                         uint16_t port, int *host_fits)
{
    const uint16_t *path = cooked->text + cooked->path;

    *host_fits = 0;
    if (prefix->port != port)
        return 0;
    if (prefix->kind == PREFIX_HOST && (prefix->host_length != cooked->name_length ||
                                        !same(prefix->host, cooked->text + cooked->host, prefix->host_length)))
        return 0;
    if (prefix->kind == PREFIX_ADDRESS && memcmp(&prefix->address, here, sizeof(*here)))
        return 0;
    *host_fits = 1;
    if (prefix->path_length > cooked->path_length || !same(prefix->path, path, prefix->path_length))
        return 0;
    if (prefix->path_length && prefix->path_length < cooked->path_length && path[prefix->path_length] != '/')
        return 0;
    return prefix->path_length + 1;
}
