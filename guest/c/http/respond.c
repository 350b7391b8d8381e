/* Responses. */
#include "core.h"

#include <http.h>
#include <stdio.h>
#include <string.h>

enum
{
    FLAG_OPAQUE = 0x40, /* HTTP_SEND_RESPONSE_FLAG_OPAQUE: what follows is no HTTP */
    MOST_ADDED = 256,   /* the status line but for its reason, and the headers that are added */
};

uint32_t http_write_date(char *out)
{
    static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    SYSTEMTIME t;

    GetSystemTime(&t);
    return (uint32_t)_snprintf(out, 32, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT", days + t.wDayOfWeek * 3, t.wDay,
                               months + (t.wMonth - 1) * 3, t.wYear, t.wHour, t.wMinute, t.wSecond);
}

/* Decides what the connection does after the response, and what of the response there is. */
static void plan(struct connection *c, const struct http_send *in)
{
    bool more = in->flags & HTTP_SEND_RESPONSE_FLAG_MORE_DATA;

    c->response_begun = true;
    c->bodiless = http_method_known(c->text, c->head.method_length) == HttpVerbHEAD || in->status == 204 ||
                  in->status == 304;
    if (in->given & HTTP_GIVEN_CLOSE)
        c->close_after = true;
    if (in->flags & FLAG_OPAQUE)
    {
        c->close_after = true;
        memset(&c->body, 0, sizeof(c->body));
        c->body.kind = BODY_OPAQUE;
        return;
    }
    if (c->head.expects_continue && !c->continued && !http_body_ended(&c->body))
        c->close_after = true; /* the client may send its body or not */
    if (more && !c->bodiless && !in->whole && !(in->given & (HTTP_GIVEN_LENGTH | HTTP_GIVEN_ENCODING)))
        c->close_after = true; /* the body ends with the connection */
    c->counted = !c->bodiless && (in->whole || in->given & HTTP_GIVEN_LENGTH);
    c->left = (int64_t)in->content_length;
}

/* The status line, and the headers that the program has not given. */
static uint32_t write_head(const struct connection *c, const struct http_send *in, char *out)
{
    const char *reason = in->data, *headers = reason + in->reason;
    bool informs = in->status < 200;
    uint32_t n = (uint32_t)_snprintf(out, 32, "HTTP/1.1 %u ", in->status);

    memcpy(out + n, reason, in->reason);
    n += in->reason;
    memcpy(out + n, "\r\n", 2);
    n += 2;
    memcpy(out + n, headers, in->headers);
    n += in->headers;
    if (in->whole && !informs && in->status != 204 && in->status != 304)
        n += (uint32_t)_snprintf(out + n, 48, "Content-Length: %I64u\r\n", in->content_length);
    if (!(in->given & HTTP_GIVEN_SERVER) && !informs)
        n += (uint32_t)_snprintf(out + n, 48, "Server: Microsoft-HTTPAPI/2.0\r\n");
    if (!(in->given & HTTP_GIVEN_DATE) && !informs)
    {
        n += (uint32_t)_snprintf(out + n, 8, "Date: ");
        n += http_write_date(out + n);
        memcpy(out + n, "\r\n", 2);
        n += 2;
    }
    if (!(in->given & HTTP_GIVEN_CONNECTION) && !informs && c->close_after)
        n += (uint32_t)_snprintf(out + n, 32, "Connection: close\r\n");
    else if (!(in->given & HTTP_GIVEN_CONNECTION) && !informs && c->head.minor == 0)
        n += (uint32_t)_snprintf(out + n, 32, "Connection: keep-alive\r\n");
    memcpy(out + n, "\r\n", 2);
    return n + 2;
}

static bool has_form(const struct operation *op)
{
    const struct http_send *in = (const void *)op->buffer;

    return op->in_size >= sizeof(*in) && (uint64_t)in->reason + in->headers + in->body == op->in_size - sizeof(*in) &&
           in->status < 1000;
}

/* Whether the response may go on as the program wants. */
static bool is_in_turn(const struct connection *c, const struct http_send *in)
{
    if (c->response_ended)
        return false;
    return in->status ? !c->response_begun : c->response_begun;
}

void http_respond(struct file *file, struct operation *op)
{
    const struct http_send *in = (const void *)op->buffer;
    struct connection *c = has_form(op) ? http_request_find(in->id) : NULL;
    const char *body = in->data + (has_form(op) ? in->reason + in->headers : 0);
    struct block *block;
    uint32_t n = 0;

    if (!c || c->state != STATE_TAKEN || !file->queue || c->queue != file->queue)
    {
        http_finish(op, has_form(op) ? NO_CONNECTION : WRONG_PARAMETER, 0);
        return;
    }
    if (!is_in_turn(c, in))
    {
        http_finish(op, WRONG_PARAMETER, 0);
        return;
    }
    block = http_block_new(in->reason + in->headers + in->body + MOST_ADDED);
    if (!block)
    {
        http_finish(op, NO_MEMORY, 0);
        return;
    }
    if (in->status)
    {
        if (in->status >= 200 || in->status == 101)
            plan(c, in);
        if (in->flags & HTTP_SEND_RESPONSE_FLAG_DISCONNECT)
            c->close_after = true;
        n = write_head(c, in, block->data);
    }
    if (in->flags & HTTP_SEND_RESPONSE_FLAG_DISCONNECT)
        c->close_after = true;
    if (!c->bodiless)
    {
        memcpy(block->data + n, body, in->body);
        n += in->body;
        c->left -= in->body;
    }
    block->size = n;
    block->told = in->earlier + n;
    block->last = c->response_begun && !(in->flags & HTTP_SEND_RESPONSE_FLAG_MORE_DATA);
    c->response_ended = block->last;
    if (block->last)
        http_finish_all(&c->readers, NO_CONNECTION);
    block->op = op;
    op->block = block;
    http_transfer_send(c, block);
}
