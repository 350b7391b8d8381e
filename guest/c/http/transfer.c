/* What comes in on a connection, and what goes out. */
#include "core.h"

#include <string.h>

enum
{
    FIRST_IN = 4096,
    BODY_IN = 65536,   /* of a body that nobody has read yet */
    SLICE = 65536,     /* sent at once; each has the time STALL_MS */
    STALL_MS = 120000, /* a transfer that does not go on ends the connection */
};

bool http_transfer_reserve(struct connection *c, uint32_t size)
{
    uint8_t *more;

    if (c->in_size >= size)
        return true;
    if (c->receiving)
        return false;
    more = http_memory_grow(c->in, size);
    if (!more)
        return false;
    c->in = more;
    c->in_size = size;
    return true;
}

void http_transfer_consume(struct connection *c, size_t n)
{
    c->in_start += (uint32_t)n;
    c->in_length -= (uint32_t)n;
}

/* How many bytes may wait to be read. */
static uint32_t room(const struct connection *c)
{
    switch (c->state)
    {
    case STATE_HEAD: return c->in_length < FIRST_IN ? FIRST_IN : MAX_HEAD;
    case STATE_QUEUED:
    case STATE_TAKEN: return http_body_ended(&c->body) ? FIRST_IN : BODY_IN;
    default: return BODY_IN;
    }
}

void http_transfer_receive(struct connection *c)
{
    WSABUF buffer;
    DWORD flags = 0;

    if (c->receiving || c->ended || c->state == STATE_CLOSED)
        return;
    memmove(c->in, c->in + c->in_start, c->in_length);
    c->in_start = 0;
    if (!http_transfer_reserve(c, room(c)))
    {
        http_connection_abort(c);
        return;
    }
    if (c->in_length >= c->in_size)
        return; /* whoever reads makes room */
    memset(&c->receive.overlapped, 0, sizeof(c->receive.overlapped));
    buffer.buf = (char *)c->in + c->in_length;
    buffer.len = c->in_size - c->in_length;
    c->receiving = true;
    if (WSARecv(c->socket, &buffer, 1, NULL, &flags, &c->receive.overlapped, NULL) &&
        WSAGetLastError() != WSA_IO_PENDING)
    {
        c->receiving = false;
        http_connection_abort(c);
    }
}

void http_received(struct io *io, DWORD bytes, bool failed)
{
    struct connection *c = CONTAINING_RECORD(io, struct connection, receive);

    http_lock();
    c->receiving = false;
    if (c->state != STATE_CLOSED)
    {
        if (failed)
            http_connection_abort(c);
        else
        {
            c->ended = !bytes;
            c->in_length += bytes;
            c->come(c);
        }
    }
    http_unlock();
}

static void send_slice(struct connection *c)
{
    struct block *block = c->blocks;
    WSABUF buffer = {.buf = block->data + block->sent, .len = block->size - block->sent};

    if (buffer.len > SLICE)
        buffer.len = SLICE;
    memset(&c->send.overlapped, 0, sizeof(c->send.overlapped));
    c->sending = true;
    c->stalls = GetTickCount64() + STALL_MS;
    if (WSASend(c->socket, &buffer, 1, NULL, 0, &c->send.overlapped, NULL) && WSAGetLastError() != WSA_IO_PENDING)
    {
        c->sending = false;
        http_connection_abort(c);
    }
}

/* Begins with the next block, after those that have nothing to send. */
static void send_next(struct connection *c)
{
    while (c->blocks && !c->sending && c->state != STATE_CLOSED)
    {
        bool last = c->blocks->last;

        if (c->blocks->sent < c->blocks->size)
        {
            send_slice(c);
            continue;
        }
        http_block_end(c, DONE);
        if (last)
            c->answered(c);
    }
}

void http_transfer_send(struct connection *c, struct block *block)
{
    struct block **at = &c->blocks;

    while (*at)
        at = &(*at)->next;
    *at = block;
    send_next(c);
}

void http_sent(struct io *io, DWORD bytes, bool failed)
{
    struct connection *c = CONTAINING_RECORD(io, struct connection, send);

    http_lock();
    c->sending = false;
    c->blocks->sent += bytes;
    if (failed)
        http_connection_abort(c);
    if (c->state == STATE_CLOSED)
        http_block_drop(c, NO_CONNECTION);
    else
        send_next(c);
    http_unlock();
}
