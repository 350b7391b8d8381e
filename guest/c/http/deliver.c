/* Requests as programs get them: HTTP_REQUEST and what it points to, in the receiver's buffer, and the body. */
#include "core.h"

#include <http.h>
#include <string.h>

/* Writes to the receiver's buffer as far as it goes, and counts what it would be. */
struct writer
{
    uint8_t *buffer;
    uint64_t address; /* of the buffer, where the receiver has it */
    size_t size, used;
};

static void *reserve(struct writer *w, size_t length, size_t align)
{
    size_t at = (w->used + align - 1) / align * align;

    w->used = at + length;
    if (w->used > w->size)
        return NULL;
    memset(w->buffer + at, 0, length);
    return w->buffer + at;
}

/* The address, where the receiver has it, of the length bytes that were reserved last. */
static const void *last(const struct writer *w, size_t length)
{
    return (const void *)(uintptr_t)(w->address + w->used - length);
}

/* Texts have a zero at their end, which no length counts. */
static const char *put(struct writer *w, const char *text, size_t length)
{
    char *to = reserve(w, length + 1, 1);

    if (to)
        memcpy(to, text, length);
    return last(w, length + 1);
}

/*
 * The value of a header that may stand more than once: http.sys makes one line of them (RFC 9110, 5.3). name is what is
 * looked for, from is the line that comes first.
 */
static const char *put_joined(struct writer *w, const struct connection *c, int known, uint32_t from, USHORT *length)
{
    const char *between = known == HttpHeaderCookie ? "; " : ", ";
    struct line line;
    size_t total = 0;
    char *to;

    for (uint32_t at = from; http_head_line(c->text, &c->head, &at, &line);)
        if (http_header_known(c->text + line.name, line.name_length) == known)
            total += line.value_length + (total ? 2 : 0);
    to = reserve(w, total + 1, 1);
    *length = (USHORT)total;
    total = 0;
    for (uint32_t at = from; to && http_head_line(c->text, &c->head, &at, &line);)
    {
        if (http_header_known(c->text + line.name, line.name_length) != known)
            continue;
        if (total)
        {
            memcpy(to + total, between, 2);
            total += 2;
        }
        memcpy(to + total, c->text + line.value, line.value_length);
        total += line.value_length;
    }
    return last(w, (size_t)*length + 1);
}

static void put_headers(struct writer *w, const struct connection *c, HTTP_REQUEST_HEADERS *headers)
{
    HTTP_UNKNOWN_HEADER *unknown;
    const HTTP_UNKNOWN_HEADER *theirs;
    struct line line;
    USHORT count = 0;

    for (uint32_t at = c->head.headers; http_head_line(c->text, &c->head, &at, &line);)
        if (http_header_known(c->text + line.name, line.name_length) < 0)
            count++;
    unknown = reserve(w, count * sizeof(*unknown), 8);
    theirs = count ? last(w, count * sizeof(*unknown)) : NULL;
    headers->UnknownHeaderCount = count;
    headers->pUnknownHeaders = (HTTP_UNKNOWN_HEADER *)theirs;
    for (uint32_t at = c->head.headers, from = at; http_head_line(c->text, &c->head, &at, &line); from = at)
    {
        int known = http_header_known(c->text + line.name, line.name_length);
        const char *name, *value;

        if (known >= 0)
        {
            HTTP_KNOWN_HEADER *header = &headers->KnownHeaders[known];

            if (!header->pRawValue)
                header->pRawValue = put_joined(w, c, known, from, &header->RawValueLength);
            continue;
        }
        name = put(w, c->text + line.name, line.name_length);
        value = put(w, c->text + line.value, line.value_length);
        if (w->used > w->size)
            continue;
        unknown->pName = name;
        unknown->NameLength = (USHORT)line.name_length;
        unknown->pRawValue = value;
        unknown->RawValueLength = (USHORT)line.value_length;
        unknown++;
    }
}

static void put_url(struct writer *w, const struct connection *c, HTTP_COOKED_URL *url)
{
    const struct cooked *cooked = &c->cooked;
    size_t length = (cooked->query + cooked->query_length) * sizeof(WCHAR);
    WCHAR *to = reserve(w, length + sizeof(WCHAR), sizeof(WCHAR));
    const WCHAR *theirs = last(w, length + sizeof(WCHAR));

    if (to)
        memcpy(to, cooked->text, length);
    url->FullUrlLength = (USHORT)length;
    url->pFullUrl = theirs;
    url->HostLength = (USHORT)(cooked->host_length * sizeof(WCHAR));
    url->pHost = theirs + cooked->host;
    url->AbsPathLength = (USHORT)(cooked->path_length * sizeof(WCHAR));
    url->pAbsPath = theirs + cooked->path;
    url->QueryStringLength = (USHORT)(cooked->query_length * sizeof(WCHAR));
    url->pQueryString = cooked->query_length ? theirs + cooked->query : NULL;
}

static SOCKADDR *put_address(struct writer *w, const SOCKADDR_STORAGE *address)
{
    size_t length = address->ss_family == AF_INET6 ? sizeof(SOCKADDR_IN6) : sizeof(SOCKADDR_IN);
    void *to = reserve(w, length, 8);

    if (to)
        memcpy(to, address, length);
    return (SOCKADDR *)last(w, length);
}

/* As much of the body as has come and fits behind the rest. */
static void put_body(struct writer *w, struct connection *c, HTTP_REQUEST *request)
{
    HTTP_DATA_CHUNK *chunk;
    size_t used, n, at = (w->used + 7) / 8 * 8 + sizeof(*chunk);

    if (at >= w->size || !c->in_length || http_body_ended(&c->body))
        return;
    n = http_body_read(&c->body, c->in + c->in_start, c->in_length, &used, w->buffer + at, w->size - at);
    http_transfer_consume(c, used);
    c->received += used;
    if (!n)
        return;
    chunk = reserve(w, sizeof(*chunk), 8);
    request->EntityChunkCount = 1;
    request->pEntityChunks = (HTTP_DATA_CHUNK *)last(w, sizeof(*chunk));
    chunk->DataChunkType = HttpDataChunkFromMemory;
    chunk->FromMemory.pBuffer = (void *)(uintptr_t)(w->address + at);
    chunk->FromMemory.BufferLength = (ULONG)n;
    w->used += n;
}

/* Says to a receiver whose buffer is too small how large it has to be, and for which request. */
static void put_number(struct operation *op, const struct connection *c, size_t size)
{
    HTTP_REQUEST_V1 *request = (void *)op->buffer;

    memset(request, 0, sizeof(*request));
    request->ConnectionId = c->id;
    request->RequestId = c->request_id;
    http_finish(op, MORE_DATA, size);
}

void http_deliver(struct connection *c, struct operation *op)
{
    struct http_receive in = *(const struct http_receive *)(const void *)op->buffer;
    struct writer w = {.buffer = op->buffer, .address = in.address, .size = op->out_size};
    size_t size = c->queue->version == 1 ? sizeof(HTTP_REQUEST_V1) : sizeof(HTTP_REQUEST_V2);
    HTTP_REQUEST *request = reserve(&w, size, 8), spare;
    HTTP_REQUEST_HEADERS *headers;

    if (!request)
    {
        memset(&spare, 0, sizeof(spare));
        request = &spare;
    }
    request->ConnectionId = request->RawConnectionId = c->id;
    request->RequestId = c->request_id;
    request->UrlContext = c->context;
    request->Version.MajorVersion = c->head.major;
    request->Version.MinorVersion = c->head.minor;
    request->Verb = http_method_known(c->text, c->head.method_length);
    if (request->Verb == HttpVerbUnknown)
    {
        request->UnknownVerbLength = (USHORT)c->head.method_length;
        request->pUnknownVerb = put(&w, c->text, c->head.method_length);
    }
    request->RawUrlLength = (USHORT)c->head.url_length;
    request->pRawUrl = put(&w, c->text + c->head.url, c->head.url_length);
    put_url(&w, c, &request->CookedUrl);
    request->Address.pLocalAddress = put_address(&w, &c->local);
    request->Address.pRemoteAddress = put_address(&w, &c->remote);
    headers = &request->Headers;
    put_headers(&w, c, headers);
    if (w.used > w.size)
    {
        put_number(op, c, w.used);
        return;
    }
    if (in.flags & HTTP_RECEIVE_REQUEST_FLAG_COPY_BODY)
        put_body(&w, c, request);
    if (!http_body_ended(&c->body))
        request->Flags |= HTTP_REQUEST_FLAG_MORE_ENTITY_BODY_EXISTS;
    request->BytesReceived = c->received;
    http_finish(op, DONE, w.used);
    http_transfer_receive(c);
}

/* Asks a client for its body that waits to be asked (RFC 9110, 10.1.1). */
static void ask_on(struct connection *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct block *block;

    if (!c->head.expects_continue || c->continued || c->response_begun)
        return;
    c->continued = true;
    block = http_block_new(sizeof(text) - 1);
    if (!block)
        return;
    memcpy(block->data, text, sizeof(text) - 1);
    http_transfer_send(c, block);
}

void http_read_bodies(struct connection *c)
{
    c->deadline = 0;
    while (c->readers)
    {
        struct operation *op = c->readers;
        size_t used, n, begun = (size_t)op->length;

        n = http_body_read(&c->body, c->in + c->in_start, c->in_length, &used, op->buffer + begun,
                           op->out_size - begun);
        http_transfer_consume(c, used);
        c->received += used;
        op->length += n;
        if (op->length && (!(op->flags & HTTP_RECEIVE_REQUEST_ENTITY_BODY_FLAG_FILL_BUFFER) ||
                           op->length == op->out_size || http_body_ended(&c->body)))
            http_finish(http_take(&c->readers), DONE, op->length);
        else if (http_body_ended(&c->body))
            http_finish(http_take(&c->readers), END_OF_FILE, 0);
        else if (!op->out_size)
            http_finish(http_take(&c->readers), WRONG_PARAMETER, 0);
        else if (c->body.kind == BODY_OPAQUE && c->ended)
            http_finish(http_take(&c->readers), op->length ? DONE : END_OF_FILE, op->length);
        else if (c->body.bad || c->ended)
            http_finish(http_take(&c->readers), NO_CONNECTION, 0);
        else
        {
            ask_on(c);
            if (c->body.kind != BODY_OPAQUE)
                http_connection_time(c, HTTP_TIME_BODY);
            break;
        }
    }
}
