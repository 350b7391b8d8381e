/* A connection's life: a request after the other, until somebody has enough. */
#include "core.h"

#include <stdio.h>
#include <string.h>

enum
{
    LINGER_MS = 5000,
    DRAIN = 1 << 20, /* what of a body is read that nobody wants */
};

/* Everything is sent. The other end may still send: if it were reset, it could lose the answer. */
static void linger(struct connection *c)
{
    http_connection_forget(c);
    http_finish_all(&c->waiters, DONE);
    http_transfer_consume(c, c->in_length);
    c->state = STATE_LINGER;
    c->deadline = GetTickCount64() + LINGER_MS;
    shutdown(c->socket, SD_SEND);
    if (c->ended)
        http_connection_close(c);
    else
        http_transfer_receive(c);
}

static const char *title_of(int status)
{
    switch (status)
    {
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    default: return "HTTP Version Not Supported";
    }
}

/* The page with which http.sys answers what no program takes. */
void http_connection_refuse(struct connection *c, int status, const char *why)
{
    static const char form[] =
        "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"\"http://www.w3.org/TR/html4/strict.dtd\">\r\n"
        "<HTML><HEAD><TITLE>%s</TITLE>\r\n"
        "<META HTTP-EQUIV=\"Content-Type\" Content=\"text/html; charset=us-ascii\"></HEAD>\r\n"
        "<BODY><h2>%s</h2>\r\n<hr><p>HTTP Error %d. %s</p>\r\n</BODY></HTML>\r\n";
    char page[640], date[32] = "";
    struct block *block = http_block_new(1024);
    int length = _snprintf(page, sizeof(page), form, title_of(status), title_of(status), status, why);

    if (c->queue && c->state == STATE_QUEUED)
        c->queue->waiting_count--;
    c->state = STATE_LAST;
    http_connection_forget(c);
    http_transfer_consume(c, c->in_length);
    if (!block)
    {
        http_connection_abort(c);
        return;
    }
    date[http_write_date(date)] = 0;
    block->size = (uint32_t)_snprintf(
        block->data, block->size,
        "HTTP/1.1 %d %s\r\nContent-Type: text/html; charset=us-ascii\r\nServer: Microsoft-HTTPAPI/2.0\r\n"
        "Date: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
        status, title_of(status), date, length, page);
    block->last = true;
    http_transfer_send(c, block);
}

/* The rest of a body that nobody wants; false: there is more to come. */
static bool drained(struct connection *c)
{
    size_t used;

    c->received += http_body_read(&c->body, c->in + c->in_start, c->in_length, &used, NULL, (size_t)-1);
    http_transfer_consume(c, used);
    return http_body_ended(&c->body);
}

static const char *reason_of(int status)
{
    switch (status)
    {
    case 400: return "The request is badly formed.";
    case 501: return "The request's transfer encoding is not implemented.";
    case 503: return "The service is unavailable.";
    case 404: return "The requested resource is not found.";
    default: return "The HTTP version is not supported.";
    }
}

/* Begins with the request whose head is at the start of what was received. */
static void begin(struct connection *c)
{
    int status;

    c->response_begun = c->response_ended = c->continued = c->bodiless = c->counted = false;
    c->close_after = c->head.close || (c->head.minor == 0 && !c->head.keep_alive);
    c->context = c->left = 0;
    c->scanned = 0;
    c->deadline = 0;
    c->received = c->head.length;
    c->text = http_memory_grow(NULL, c->head.length);
    if (!c->text)
    {
        http_connection_abort(c);
        return;
    }
    memcpy(c->text, c->in + c->in_start, c->head.length);
    http_transfer_consume(c, c->head.length);
    http_body_start(&c->body, &c->head);
    status = http_cook(&c->cooked, c->text, &c->head, &c->here, c->port);
    if (status < 0)
    {
        http_connection_abort(c);
        return;
    }
    if (status != HEAD_DONE)
    {
        http_connection_refuse(c, status, reason_of(status));
        return;
    }
    status = http_url_find(c);
    if (!status)
    {
        http_connection_number(c);
        status = http_queue_request(c);
    }
    if (status)
        http_connection_refuse(c, status, status == 400 ? "The request hostname is invalid." : reason_of(status));
}

/* Whether there is a request, or one is refused. */
static bool read_head(struct connection *c)
{
    uint32_t blank = 0;
    int status;

    while (c->in_length - blank >= 2 && !memcmp(c->in + c->in_start + blank, "\r\n", 2)) /* RFC 9112, 2.2 */
        blank += 2;
    if (blank)
    {
        http_transfer_consume(c, blank);
        c->scanned = 0;
    }
    if (c->in_length && !c->begun)
    {
        c->begun = true;
        http_connection_time(c, HTTP_TIME_HEAD);
    }
    if (c->in_length == 1 && c->in[c->in_start] == '\r')
        return false;
    status = c->in_length ? http_head_read((const char *)c->in + c->in_start, c->in_length, &c->scanned, &c->head)
                          : HEAD_MORE;
    if (status == HEAD_MORE)
        return false;
    if (status == HEAD_DONE)
        begin(c);
    else if (c->in_length >= MAX_HEAD)
        http_connection_refuse(c, status, "The size of the request headers is too long.");
    else
        http_connection_refuse(c, status, reason_of(status));
    return true;
}

void http_connection_go_on(struct connection *c)
{
    if (c->state == STATE_DRAIN && drained(c))
    {
        c->state = STATE_HEAD;
        c->scanned = 0;
        c->begun = false;
        http_connection_time(c, HTTP_TIME_IDLE);
    }
    if (c->state == STATE_DRAIN && (c->body.bad || c->received > DRAIN || c->ended))
        linger(c);
    if (c->state == STATE_HEAD && !c->in_length && !c->receiving)
    {
        http_memory_free(c->in); /* a body may have made it large */
        c->in = NULL;
        c->in_size = c->in_start = 0;
    }
    if (c->state == STATE_HEAD && read_head(c))
        ; /* it has gone on by itself, as far as it could */
    else if (c->state == STATE_HEAD && c->ended)
        http_connection_close(c);
    if (c->state == STATE_TAKEN)
        http_read_bodies(c);
    if (c->state == STATE_LINGER || c->state == STATE_LAST)
        http_transfer_consume(c, c->in_length);
    if (c->state == STATE_LINGER && c->ended)
        http_connection_close(c);
    if (c->ended && c->state != STATE_CLOSED)
        http_finish_all(&c->waiters, DONE);
    http_transfer_receive(c);
}

void http_connection_close_port(uint16_t port)
{
    for (struct link *at = http_connections.next; at != &http_connections; at = at->next)
    {
        struct connection *c = CONTAINING_RECORD(at, struct connection, all);

        if (c->port == port && (c->state == STATE_HEAD || c->state == STATE_DRAIN))
            linger(c);
    }
}

void http_connections_tick(void)
{
    ULONGLONG now = GetTickCount64();

    for (struct link *at = http_connections.next, *next; at != &http_connections; at = next)
    {
        struct connection *c = CONTAINING_RECORD(at, struct connection, all);

        next = at->next;
        if (c->state == STATE_CLOSED && !c->receiving && !c->sending)
            http_connection_free(c);
        else if (c->state == STATE_QUEUED && c->deadline && now > c->deadline)
            http_connection_refuse(c, 503, reason_of(503));
        else if ((c->deadline && now > c->deadline) || (c->sending && now > c->stalls))
            http_connection_abort(c);
    }
}

/* The last part of the response is sent. */
static void answered(struct connection *c)
{
    if (c->state == STATE_LAST || c->close_after || c->ended || c->body.bad || (c->counted && c->left))
    {
        linger(c);
        return;
    }
    http_connection_forget(c);
    c->received = 0;
    c->state = STATE_DRAIN;
    http_connection_time(c, HTTP_TIME_DRAIN);
    http_connection_go_on(c);
}

void http_serve(SOCKET socket, uint16_t port, const SOCKADDR *local, const SOCKADDR *remote)
{
    struct connection *c = http_connection_new(socket, port, local, remote);

    if (!c)
        return;
    c->receive.done = http_received;
    c->send.done = http_sent;
    c->come = http_connection_go_on;
    c->answered = answered;
    http_connection_go_on(c);
}
