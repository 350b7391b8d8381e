/*
 * URLs: the prefixes that programs register (https://learn.microsoft.com/windows/win32/http/urlprefix-strings), and the
 * URLs that requests ask for. Characters are those of UTF-16.
 */
#ifndef MULLION_HTTP_URL_H
#define MULLION_HTTP_URL_H

#include <stddef.h>
#include <stdint.h>

#include "ipaddress.h"
#include "parse.h"

/* Who is asked first: the order in which http.sys looks for a prefix. */
enum prefix_kind
{
    PREFIX_STRONG,  /* http://+:80/ */
    PREFIX_HOST,    /* http://example.org:80/ */
    PREFIX_ADDRESS, /* http://192.0.2.1:80/, http://[2001:db8::1]:80/ */
    PREFIX_WEAK,    /* http://(asterisk):80/ */
    PREFIX_KINDS,
};

struct prefix
{
    uint8_t kind;
    uint16_t port;
    struct address address; /* of PREFIX_ADDRESS */
    uint32_t host_length, path_length;
    uint16_t *host; /* lower case, without a port */
    uint16_t *path; /* lower case, from its first slash, without the last one */
};

enum prefix_result
{
    PREFIX_OK,
    PREFIX_WRONG,
    PREFIX_SECURE, /* https */
    PREFIX_NO_MEMORY,
};

enum prefix_result http_prefix_read(struct prefix *prefix, const uint16_t *text, uint32_t length);
void http_prefix_free(struct prefix *prefix);
int http_prefix_same(const struct prefix *a, const struct prefix *b);

/* A request's URL as programs get it: http://host:port/path?query. Lengths are in characters. */
struct cooked
{
    uint16_t *text;
    uint32_t host, host_length; /* with the port */
    uint32_t name_length;       /* of the host without it */
    uint32_t path, path_length; /* decoded, without . and .. */
    uint32_t query, query_length;
};

/*
 * Makes it of the head at text. here is where the request came in, which is its host if it names none. Returns
 * HEAD_DONE, a status, or -1 if there is no memory.
 */
int http_cook(struct cooked *cooked, const char *text, const struct head *head, const struct address *here,
              uint16_t port);

/*
 * How well the prefix fits: 0, or the more the longer its path is. host_fits tells whether host and port do.
 */
uint32_t http_prefix_fit(const struct prefix *prefix, const struct cooked *cooked, const struct address *here,
                         uint16_t port, int *host_fits);

#endif
