/* Responses: their headers as text, and their bodies as bytes, from memory and files. */
#include "httpapi.h"

#include <string.h>

#include "httpnames.h"

enum
{
    FEW_COPIED = 4 << 20, /* bytes given to the driver at once; a longer body goes in pieces, of which the last one is
                             the caller's */
};

static const char product[] = "Microsoft-HTTPAPI/2.0";

/* Text that grows; at NULL it only counts. */
struct text
{
    char *at;
    size_t length;
    BOOL wrong; /* a line end in a header would begin another one */
};

static void add(struct text *t, const void *from, size_t length)
{
    if (t->at)
        memcpy(t->at + t->length, from, length);
    t->length += length;
}

static void add_header(struct text *t, const char *name, size_t name_length, const char *value, size_t length)
{
    for (size_t i = 0; i < name_length + length; i++)
    {
        char c = i < name_length ? name[i] : value[i - name_length];

        t->wrong |= c == '\r' || c == '\n' || !c;
    }
    add(t, name, name_length);
    add(t, ": ", 2);
    add(t, value, length);
    add(t, "\r\n", 2);
}

static BOOL same(const char *a, size_t length, const char *b)
{
    return strlen(b) == length && !_strnicmp(a, b, length);
}

/* Whether a list of words has this one. */
static BOOL has_word(const char *list, size_t length, const char *word)
{
    for (size_t i = 0; i < length;)
    {
        size_t end, start;

        while (i < length && (list[i] == ' ' || list[i] == ',' || list[i] == '\t'))
            i++;
        for (start = i; i < length && list[i] != ','; i++)
            ;
        for (end = i; end > start && (list[end - 1] == ' ' || list[end - 1] == '\t'); end--)
            ;
        if (same(list + start, end - start, word))
            return TRUE;
    }
    return FALSE;
}

/* Notes what the driver has to know of a header. */
static void note(struct http_send *send, const char *name, size_t name_length, const char *value, size_t length)
{
    if (same(name, name_length, "Date"))
        send->given |= HTTP_GIVEN_DATE;
    else if (same(name, name_length, "Server"))
        send->given |= HTTP_GIVEN_SERVER;
    else if (same(name, name_length, "Transfer-Encoding"))
        send->given |= HTTP_GIVEN_ENCODING;
    else if (same(name, name_length, "Connection"))
        send->given |= HTTP_GIVEN_CONNECTION | (has_word(value, length, "close") ? HTTP_GIVEN_CLOSE : 0);
    else if (same(name, name_length, "Content-Length"))
    {
        send->given |= HTTP_GIVEN_LENGTH;
        send->content_length = 0;
        for (size_t i = 0; i < length && value[i] >= '0' && value[i] <= '9'; i++)
            send->content_length = send->content_length * 10 + (uint64_t)(value[i] - '0');
    }
}

static void header(struct text *t, struct http_send *send, const char *name, size_t name_length, const char *value,
                   size_t length)
{
    note(send, name, name_length, value, length);
    add_header(t, name, name_length, value, length);
}

static const char *const names[HttpHeaderResponseMaximum] = {
    HTTP_COMMON_HEADERS, "Accept-Ranges", "Age",        "ETag", "Location",         "Proxy-Authenticate",
    "Retry-After",       "Server",        "Set-Cookie", "Vary", "WWW-Authenticate",
};

/* As http.sys does, the driver's own name comes after the program's. */
static void server(struct text *t, struct http_send *send, const HTTP_KNOWN_HEADER *given)
{
    send->given |= HTTP_GIVEN_SERVER;
    add_header(t, "Server", 6, given->pRawValue, given->RawValueLength);
    t->length -= 2;
    add(t, " ", 1);
    add(t, product, sizeof(product) - 1);
    add(t, "\r\n", 2);
}

/* A header that stands more than once (HTTP_MULTIPLE_KNOWN_HEADERS). */
static void several(struct text *t, struct http_send *send, const HTTP_MULTIPLE_KNOWN_HEADERS *more)
{
    for (USHORT i = 0; i < more->KnownHeaderCount && (unsigned)more->HeaderId < HttpHeaderResponseMaximum; i++)
        header(t, send, names[more->HeaderId], strlen(names[more->HeaderId]), more->KnownHeaders[i].pRawValue,
               more->KnownHeaders[i].RawValueLength);
}

static void headers(struct text *t, struct http_send *send, const HTTP_RESPONSE *response)
{
    const HTTP_RESPONSE_HEADERS *h = &response->Headers;

    for (int i = 0; i < HttpHeaderResponseMaximum; i++)
    {
        const HTTP_KNOWN_HEADER *known = &h->KnownHeaders[i];

        if (!known->RawValueLength)
            continue;
        if (i == HttpHeaderServer)
            server(t, send, known);
        else
            header(t, send, names[i], strlen(names[i]), known->pRawValue, known->RawValueLength);
    }
    for (USHORT i = 0; i < h->UnknownHeaderCount; i++)
    {
        const HTTP_UNKNOWN_HEADER *unknown = &h->pUnknownHeaders[i];

        header(t, send, unknown->pName, unknown->NameLength, unknown->pRawValue, unknown->RawValueLength);
    }
    for (USHORT i = 0; httpapi_version > 1 && i < response->ResponseInfoCount; i++)
        if (response->pResponseInfo[i].Type == HttpResponseInfoTypeMultipleKnownHeaders)
            several(t, send, response->pResponseInfo[i].pInfo);
}

/* What is left of the parts of a body. */
struct body
{
    const HTTP_DATA_CHUNK *chunks;
    USHORT count;
    uint64_t at; /* in the first one */
};

/* How long a part is. A file's may go to its end, wherever that is. */
static ULONG chunk_length(const HTTP_DATA_CHUNK *chunk, uint64_t *length)
{
    uint64_t from = chunk->FromFileHandle.ByteRange.StartingOffset.QuadPart;
    LARGE_INTEGER size;

    switch (chunk->DataChunkType)
    {
    case HttpDataChunkFromMemory: *length = chunk->FromMemory.BufferLength; return ERROR_SUCCESS;
    case HttpDataChunkFromFileHandle:
        *length = chunk->FromFileHandle.ByteRange.Length.QuadPart;
        if (!GetFileSizeEx(chunk->FromFileHandle.FileHandle, &size))
            return GetLastError();
        if (*length == HTTP_BYTE_RANGE_TO_EOF && from <= (uint64_t)size.QuadPart)
            *length = (uint64_t)size.QuadPart - from;
        return from + *length < from || from + *length > (uint64_t)size.QuadPart ? ERROR_HANDLE_EOF : ERROR_SUCCESS;
    default: return ERROR_NOT_SUPPORTED;
    }
}

static ULONG read_file(const HTTP_DATA_CHUNK *chunk, uint64_t at, char *to, ULONG n)
{
    OVERLAPPED o = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    ULONG error = ERROR_SUCCESS;
    DWORD done = 0;

    at += chunk->FromFileHandle.ByteRange.StartingOffset.QuadPart;
    o.Offset = (DWORD)at;
    o.OffsetHigh = (DWORD)(at >> 32);
    if (!o.hEvent)
        return ERROR_NOT_ENOUGH_MEMORY;
    o.hEvent = (HANDLE)((ULONG_PTR)o.hEvent | 1); /* nothing for the file's completion port */
    if ((!ReadFile(chunk->FromFileHandle.FileHandle, to, n, NULL, &o) && GetLastError() != ERROR_IO_PENDING) ||
        !GetOverlappedResult(chunk->FromFileHandle.FileHandle, &o, &done, TRUE))
        error = GetLastError();
    else if (done != n)
        error = ERROR_HANDLE_EOF;
    CloseHandle((HANDLE)((ULONG_PTR)o.hEvent & ~(ULONG_PTR)1));
    return error;
}

/* Takes the next n bytes of a body. */
static ULONG take(struct body *body, char *to, size_t n)
{
    while (n)
    {
        uint64_t length, part;
        ULONG error = chunk_length(body->chunks, &length);

        if (error)
            return error;
        part = body->at < length ? length - body->at : 0;
        if (part > n)
            part = n;
        if (part && body->chunks->DataChunkType == HttpDataChunkFromMemory)
            memcpy(to, (const char *)body->chunks->FromMemory.pBuffer + body->at, (size_t)part);
        else if (part)
            error = read_file(body->chunks, body->at, to, (ULONG)part);
        if (error)
            return error;
        to += part;
        n -= (size_t)part;
        body->at += part;
        if (body->at >= length)
        {
            body->chunks++;
            body->at = 0;
        }
    }
    return ERROR_SUCCESS;
}

/*
 * Sends what is in send and in text before it, and the body. A body that is long goes in pieces; the caller waits for
 * all but the last one.
 */
static ULONG ship(HANDLE queue, struct http_send *send, const char *reason, const struct text *head, struct body *body,
                  ULONG *sent, OVERLAPPED *overlapped)
{
    uint64_t total = 0;
    ULONG flags = send->flags, error = ERROR_SUCCESS, done;

    for (USHORT i = 0; i < body->count; i++)
    {
        uint64_t length;

        error = chunk_length(&body->chunks[i], &length);
        if (error)
            return error;
        total += length;
    }
    if (send->status && !(send->given & (HTTP_GIVEN_LENGTH | HTTP_GIVEN_ENCODING)) &&
        !(flags & HTTP_SEND_RESPONSE_FLAG_MORE_DATA))
    {
        send->whole = 1;
        send->content_length = total;
    }
    do
    {
        size_t n = total > FEW_COPIED ? FEW_COPIED : (size_t)total,
               before = sizeof(*send) + send->reason + send->headers;
        char *in = httpapi_take(before + n);

        if (!in)
            return ERROR_NOT_ENOUGH_MEMORY;
        total -= n;
        send->body = (uint32_t)n;
        send->flags = total ? (flags | HTTP_SEND_RESPONSE_FLAG_MORE_DATA) & ~(ULONG)HTTP_SEND_RESPONSE_FLAG_DISCONNECT
                            : flags;
        memcpy(in, send, sizeof(*send));
        memcpy(in + sizeof(*send), reason, send->reason);
        if (send->headers)
            memcpy(in + sizeof(*send) + send->reason, head->at, send->headers);
        error = take(body, in + before, n);
        if (!error)
            error = httpapi_device_ask(queue, HTTP_IOCTL_SEND, in, (ULONG)(before + n), NULL, 0, &done,
                                       total ? NULL : overlapped);
        httpapi_put_back(in);
        send->status = send->reason = send->headers = send->given = 0;
        if (!error)
            send->earlier = done;
    } while (total && !error);
    if (sent && !error)
        *sent = done;
    return error;
}

ULONG WINAPI HttpSendHttpResponse(HANDLE queue, HTTP_REQUEST_ID id, ULONG flags, HTTP_RESPONSE *response, void *policy,
                                  ULONG *sent, void *reserved, ULONG reserved2, OVERLAPPED *overlapped, void *log)
{
    struct http_send send = {.id = id, .flags = flags};
    struct text text = {0};
    struct body body;
    ULONG error;

    (void)policy; /* nothing is kept */
    (void)reserved;
    (void)reserved2;
    (void)log; /* nor logged */
    if (!response || response->StatusCode < 100 || response->StatusCode > 999)
        return ERROR_INVALID_PARAMETER;
    send.status = response->StatusCode;
    send.reason = response->ReasonLength;
    for (USHORT i = 0; i < response->ReasonLength; i++)
        if (response->pReason[i] == '\r' || response->pReason[i] == '\n')
            return ERROR_INVALID_PARAMETER;
    headers(&text, &send, response);
    if (text.wrong)
        return ERROR_INVALID_PARAMETER;
    text.at = httpapi_take(text.length + 1);
    if (!text.at)
        return ERROR_NOT_ENOUGH_MEMORY;
    text.length = 0;
    headers(&text, &send, response);
    send.headers = (uint32_t)text.length;
    body = (struct body){.chunks = response->pEntityChunks, .count = response->EntityChunkCount};
    error = ship(queue, &send, response->pReason, &text, &body, sent, overlapped);
    httpapi_put_back(text.at);
    return error;
}

ULONG WINAPI HttpSendResponseEntityBody(HANDLE queue, HTTP_REQUEST_ID id, ULONG flags, USHORT count,
                                        HTTP_DATA_CHUNK *chunks, ULONG *sent, void *reserved, ULONG reserved2,
                                        OVERLAPPED *overlapped, void *log)
{
    struct http_send send = {.id = id, .flags = flags};
    struct body body = {.chunks = chunks, .count = count};

    (void)reserved;
    (void)reserved2;
    (void)log;
    if (count && !chunks)
        return ERROR_INVALID_PARAMETER;
    return ship(queue, &send, NULL, NULL, &body, sent, overlapped);
}
