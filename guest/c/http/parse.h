/*
 * Reading HTTP/1 (RFC 9112): the head of a request, and a body's framing. All of it comes from the network. Nothing
 * here allocates, waits or knows of Windows.
 */
#ifndef MULLION_HTTP_PARSE_H
#define MULLION_HTTP_PARSE_H

#include <stddef.h>
#include <stdint.h>

enum
{
    MAX_HEAD = 16384, /* bytes of a head, the default of MaxRequestBytes of http.sys */
};

/* The outcome of looking for a head; other values are the status with which the request is refused. */
enum
{
    HEAD_MORE = 0, /* it is not complete */
    HEAD_DONE = 1,
    BAD_REQUEST = 400,
    NOT_IMPLEMENTED = 501,
    BAD_VERSION = 505,
};

/* Where the parts of a head are, by their place in its text. */
struct head
{
    uint32_t length; /* with the empty line at its end */
    uint32_t method_length;
    uint32_t url, url_length;
    uint32_t headers;           /* the first line of them */
    uint32_t host, host_length; /* length 0: none, or empty */
    uint16_t major, minor;
    uint8_t has_host, has_length, chunked, expects_continue;
    uint8_t close, keep_alive; /* of Connection */
    uint64_t content_length;
};

/* A line of the headers. The value has no space at its ends. */
struct line
{
    uint32_t name, name_length, value, value_length;
};

/*
 * Reads the head at the start of text. scanned is what an earlier call has seen of it, 0 at first; it is updated.
 */
int http_head_read(const char *text, uint32_t length, uint32_t *scanned, struct head *head);
/* The next line of a head that has been read; at starts with head->headers. 0: there is none. */
int http_head_line(const char *text, const struct head *head, uint32_t *at, struct line *line);
/* The number of a header in HTTP_HEADER_ID, -1 for one that has none. */
int http_header_known(const char *name, uint32_t length);
/* The number of a method in HTTP_VERB, 1 (HttpVerbUnknown) for one that has none. */
int http_method_known(const char *name, uint32_t length);
/* Whether two names are the same but for the case of ASCII. */
int http_same_text(const char *a, uint32_t length, const char *b);

/* How a body ends. */
enum body_kind
{
    BODY_NONE,
    BODY_LENGTH,
    BODY_CHUNKED,
    BODY_OPAQUE, /* all that comes, to the end of the connection */
};

struct body
{
    uint8_t kind, state;
    uint8_t bad;       /* it is malformed, and nothing of it can be read any more */
    uint8_t digits;    /* of a chunk's size */
    uint32_t overhead; /* bytes of extensions and trailers */
    uint64_t left;     /* of the body, or of the chunk */
};

void http_body_start(struct body *body, const struct head *head);
/* Whether all of it has been read. */
int http_body_ended(const struct body *body);
/*
 * Takes what is in the text off its framing: writes at most size bytes to out (NULL: drops them), sets used to what was
 * taken of the text, and returns the number of bytes of the body.
 */
size_t http_body_read(struct body *body, const uint8_t *text, size_t length, size_t *used, uint8_t *out, size_t size);

#endif
