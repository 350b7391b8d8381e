/* A request's URL as programs get it. */
#include "url.h"

#include <string.h>

#include "memory.h"

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Takes %XX off; the number of bytes, or -1 if there is a % that is none, or a zero. */
static int32_t unescape(uint8_t *out, const char *text, uint32_t length)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < length; i++)
    {
        int high, low;

        out[n] = (uint8_t)text[i];
        if (text[i] == '%')
        {
            if (length - i < 3 || (high = digit_of(text[i + 1])) < 0 || (low = digit_of(text[i + 2])) < 0)
                return -1;
            out[n] = (uint8_t)(high << 4 | low);
            i += 2;
        }
        if (!out[n++])
            return -1;
    }
    return (int32_t)n;
}

/* The length of a character of UTF-8 and its number; 0: it is none. */
static uint32_t utf8(const uint8_t *text, uint32_t length, uint32_t *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t n = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc0 ? 2 : 0;

    if (!n || n > length || text[0] > 0xf4)
        return 0;
    *c = n == 1 ? text[0] : text[0] & (0x7fu >> n);
    for (uint32_t i = 1; i < n; i++)
    {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *c = *c << 6 | (text[i] & 0x3f);
    }
    return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

/* Bytes as UTF-16: as UTF-8 if all of them are, else one character for each. out has room for one for each. */
static uint32_t widen(uint16_t *out, const uint8_t *text, uint32_t length)
{
    uint32_t n = 0, c, step;

    for (uint32_t i = 0; i < length; i += step)
    {
        step = utf8(text + i, length - i, &c);
        if (!step)
        {
            for (n = 0; n < length; n++)
                out[n] = text[n];
            return n;
        }
        if (c >= 0x10000)
            out[n++] = (uint16_t)(0xd800 + ((c - 0x10000) >> 10));
        out[n++] = (uint16_t)(c >= 0x10000 ? 0xdc00 + (c & 0x3ff) : c);
    }
    return n;
}

/* Takes . and .. out of a path, in its place; one that leads above the root ends there. */
static uint32_t resolve(uint16_t *path, uint32_t length)
{
    uint32_t n = 0, i = 0;

    while (i < length) /* at a slash */
    {
        uint32_t end = i + 1, dots;

        while (end < length && path[end] != '/')
            end++;
        for (dots = 0; i + 1 + dots < end && path[i + 1 + dots] == '.'; dots++)
            ;
        if (dots == end - i - 1 && (dots == 1 || dots == 2))
        {
            while (dots == 2 && n > 0 && path[--n] != '/')
                ;
            if (end == length)
                path[n++] = '/';
        }
        else
            while (i < end)
                path[n++] = path[i++];
        i = end;
    }
    return n;
}

/* The length of the host that the request names, without its port; whether it can be one. */
static int find_host(const char *host, uint32_t length, uint32_t *name)
{
    uint32_t end = length;

    for (uint32_t i = 0; i < length; i++)
        if ((unsigned char)host[i] <= ' ' || strchr("/\\?#@\"<>,;=()", host[i]))
            return 0;
    while (end > 0 && host[end - 1] >= '0' && host[end - 1] <= '9')
        end--;
    *name = end > 1 && end < length && host[end - 1] == ':' ? end - 1 : length;
    return memchr(host, ':', *name) == NULL || (host[0] == '[' && host[*name - 1] == ']');
}

static uint32_t put_port(uint16_t *out, uint16_t port)
{
    uint32_t n = 0, unit = 10000;

    out[n++] = ':';
    while (unit > port)
        unit /= 10;
    for (; unit; unit /= 10)
        out[n++] = (uint16_t)('0' + port / unit % 10);
    return n;
}

/* The URL without scheme and host, which the request may name there too (RFC 9112, 3.2). */
static int split(const char *text, const struct head *head, const char **url, uint32_t *url_length, const char **host,
                 uint32_t *host_length)
{
    uint32_t n = 7;

    *url = text + head->url;
    *url_length = head->url_length;
    *host = text + head->host;
    *host_length = head->host_length;
    if (**url == '/')
        return 1;
    if (*url_length == 1 && **url == '*')
        return 1;
    if (*url_length <= n || !http_same_text(*url, n, "http://"))
        return 0;
    while (n < *url_length && !strchr("/?", (*url)[n]))
        n++;
    *host = *url + 7;
    *host_length = n - 7;
    *url += n;
    *url_length -= n;
    return *host_length > 0;
}

int http_cook(struct cooked *cooked, const char *text, const struct head *head, const struct address *here,
              uint16_t port)
{
    const char *url, *host, *query;
    uint32_t url_length, host_length, path_length, name, n = 7;
    uint8_t *bytes;
    char own[64];
    int32_t decoded;

    memset(cooked, 0, sizeof(*cooked));
    if (!split(text, head, &url, &url_length, &host, &host_length))
        return BAD_REQUEST;
    if (!host_length)
    {
        host_length = ipaddress_write(here, own);
        host = own;
    }
    if (!find_host(host, host_length, &name))
        return BAD_REQUEST;
    query = url_length ? memchr(url, '?', url_length) : NULL;
    path_length = query ? (uint32_t)(query - url) : url_length;
    cooked->text = http_memory_new((7 + host_length + 6 + 1 + url_length + 1) * sizeof(uint16_t));
    bytes = http_memory_new(path_length + 1);
    if (!cooked->text || !bytes)
    {
        http_memory_free(bytes);
        return -1;
    }
    for (uint32_t i = 0; i < 7; i++)
        cooked->text[i] = (uint8_t) "http://"[i];
    cooked->host = n;
    n += widen(cooked->text + n, (const uint8_t *)host, name);
    cooked->name_length = n - cooked->host;
    if (name < host_length)
        n += widen(cooked->text + n, (const uint8_t *)host + name, host_length - name);
    else
        n += put_port(cooked->text + n, port);
    cooked->host_length = n - cooked->host;
    cooked->path = n;
    decoded = path_length ? unescape(bytes, url, path_length) : 0;
    if (decoded >= 0)
        n += widen(cooked->text + n, bytes, (uint32_t)decoded);
    http_memory_free(bytes);
    if (decoded < 0)
        return BAD_REQUEST;
    for (uint32_t i = cooked->path; i < n; i++)
        if (cooked->text[i] == '\\')
            cooked->text[i] = '/';
    if (n == cooked->path)
        cooked->text[n++] = '/';
    if (cooked->text[cooked->path] == '/')
        n = cooked->path + resolve(cooked->text + cooked->path, n - cooked->path);
    cooked->path_length = n - cooked->path;
    cooked->query = n;
    if (query)
        n += widen(cooked->text + n, (const uint8_t *)query, url_length - path_length);
    cooked->query_length = n - cooked->query;
    cooked->text[n] = 0;
    return HEAD_DONE;
}
