/* A body's framing. */
#include "parse.h"

#include <string.h>

/* Where the reader of a chunked body is. */
enum
{
    SIZE,      /* in the digits of a chunk's size */
    EXTENSION, /* after them, up to the line's end */
    SIZE_END,  /* before the line feed */
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,     /* at the start of a line after the last chunk */
    TRAILER_IN,  /* in such a line */
    TRAILER_END, /* before its line feed */
    LAST_LF,     /* before the line feed of the empty line */
    ENDED,
};

enum
{
    MAX_OVERHEAD = 16384, /* bytes of extensions and trailers of a body; a chunk's line begins anew */
};

void http_body_start(struct body *body, const struct head *head)
{
    memset(body, 0, sizeof(*body));
    if (head->chunked)
        body->kind = BODY_CHUNKED;
    else if (head->has_length && head->content_length)
    {
        body->kind = BODY_LENGTH;
        body->left = head->content_length;
    }
}

int http_body_ended(const struct body *body)
{
    switch (body->kind)
    {
    case BODY_NONE: return 1;
    case BODY_LENGTH: return !body->left;
    case BODY_CHUNKED: return body->state == ENDED;
    default: return 0;
    }
}

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static int counted(struct body *body)
{
    return ++body->overhead <= MAX_OVERHEAD;
}

/* A byte of a chunk's first line; 0: it does not belong there. */
static int size_byte(struct body *body, uint8_t c)
{
    int digit = digit_of(c);

    if (body->state == SIZE && digit >= 0)
    {
        if (body->digits == 15) /* less than 2^60 */
            return 0;
        body->digits++;
        body->left = body->left << 4 | (uint64_t)digit;
        return 1;
    }
    if (body->state == SIZE_END)
    {
        body->state = body->left ? DATA : TRAILER;
        body->digits = 0;
        return c == '\n';
    }
    if (!body->digits)
        return 0;
    if (c == '\r')
        body->state = SIZE_END;
    else if (body->state == SIZE && c != ';' && c != ' ' && c != '\t')
        return 0;
    else
        body->state = EXTENSION;
    return c != '\n' && counted(body);
}

/* A byte after the last chunk: header lines, which are dropped, and an empty one. */
static int trailer_byte(struct body *body, uint8_t c)
{
    switch (body->state)
    {
    case TRAILER: body->state = c == '\r' ? LAST_LF : TRAILER_IN; break;
    case TRAILER_IN: body->state = c == '\r' ? TRAILER_END : TRAILER_IN; break;
    case TRAILER_END: body->state = TRAILER; return c == '\n';
    default: body->state = ENDED; return c == '\n';
    }
    return c != '\n' && counted(body);
}

static int framing_byte(struct body *body, uint8_t c)
{
    switch (body->state)
    {
    case SIZE:
    case EXTENSION:
    case SIZE_END: return size_byte(body, c);
    case DATA_CR: body->state = DATA_LF; return c == '\r';
    case DATA_LF: body->state = SIZE; return c == '\n';
    default: return trailer_byte(body, c);
    }
}

size_t http_body_read(struct body *body, const uint8_t *text, size_t length, size_t *used, uint8_t *out, size_t size)
{
    size_t at = 0, written = 0;

    while (at < length && !body->bad && !http_body_ended(body))
    {
        uint64_t n = length - at;

        if (body->kind == BODY_CHUNKED && body->state != DATA)
        {
            body->bad = !framing_byte(body, text[at++]);
            continue;
        }
        if (body->kind != BODY_OPAQUE && n > body->left)
            n = body->left;
        if (n > size - written)
            n = size - written;
        if (!n)
            break;
        if (out)
            memcpy(out + written, text + at, (size_t)n);
        written += (size_t)n;
        at += (size_t)n;
        if (body->kind == BODY_OPAQUE)
            continue;
        body->left -= n;
        if (body->kind == BODY_CHUNKED && !body->left)
            body->state = DATA_CR;
    }
    *used = at;
    return written;
}
