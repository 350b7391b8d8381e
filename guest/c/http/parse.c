#include "parse.h"

#include <string.h>

#include "httpnames.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int http_same_text(const char *a, uint32_t length, const char *b)
{
    for (uint32_t i = 0; i < length; i++)
        if (!b[i] || lower(a[i]) != lower(b[i]))
            return 0;
    return !b[length];
}

/* RFC 9110, 5.6.2 */
static int is_token(unsigned char c)
{
    if (c >= 'a' && c <= 'z')
        return 1;
    if (c >= 'A' && c <= 'Z')
        return 1;
    if (c >= '0' && c <= '9')
        return 1;
    return c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static int is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* What a header's value may hold; http.sys takes bytes of other character sets. */
static int is_value(unsigned char c)
{
    return c == '\t' || (c >= ' ' && c != 0x7f);
}

/*
 * Whether the text begins as a request does, so that what is none is refused before the end of a head, which never
 * comes.
 */
static int is_promising(const char *text, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        if (!is_token((unsigned char)text[i]))
            return i > 0 && text[i] == ' ';
    return 1;
}

/* The place after the empty line, 0: there is none yet. */
static uint32_t find_end(const char *text, uint32_t length, uint32_t *scanned)
{
    for (uint32_t i = *scanned > 3 ? *scanned - 3 : 0; i + 4 <= length; i++)
        if (!memcmp(text + i, "\r\n\r\n", 4))
            return i + 4;
    *scanned = length;
    return 0;
}

static int read_request_line(const char *text, struct head *head, uint32_t *at)
{
    uint32_t i = 0;

    while (is_token((unsigned char)text[i]))
        i++;
    head->method_length = i;
    if (!i || i > 255 || text[i++] != ' ')
        return BAD_REQUEST;
    head->url = i;
    while ((unsigned char)text[i] > ' ' && text[i] != 0x7f)
        i++;
    head->url_length = i - head->url;
    if (!head->url_length || head->length - i < sizeof(" HTTP/1.1\r\n\r\n") - 1 || memcmp(text + i, " HTTP/", 6))
        return BAD_REQUEST;
    i += 6;
    if (text[i] < '0' || text[i] > '9' || text[i + 1] != '.' || text[i + 2] < '0' || text[i + 2] > '9' ||
        text[i + 3] != '\r' || text[i + 4] != '\n')
        return BAD_REQUEST;
    head->major = (uint16_t)(text[i] - '0');
    head->minor = (uint16_t)(text[i + 2] - '0');
    *at = i + 5;
    return head->major == 1 ? HEAD_DONE : BAD_VERSION;
}

int http_head_line(const char *text, const struct head *head, uint32_t *at, struct line *line)
{
    uint32_t i = *at, end;

    if (i + 2 >= head->length)
        return 0;
    line->name = i;
    while (text[i] != ':')
        i++;
    line->name_length = i - line->name;
    i++;
    for (end = i; text[end] != '\r'; end++)
        ;
    *at = end + 2;
    while (i < end && is_space(text[i]))
        i++;
    while (end > i && is_space(text[end - 1]))
        end--;
    line->value = i;
    line->value_length = end - i;
    return 1;
}

/* Whether every line is a name, a colon, a value and CRLF, up to the empty line. */
static int has_form(const char *text, uint32_t at, uint32_t length)
{
    while (at + 2 < length)
    {
        uint32_t name = at;

        while (is_token((unsigned char)text[at]))
            at++;
        if (at == name || text[at++] != ':')
            return 0;
        while (is_value((unsigned char)text[at]))
            at++;
        if (text[at] != '\r' || text[at + 1] != '\n')
            return 0;
        at += 2;
    }
    return at + 2 == length;
}

static int read_length(const char *value, uint32_t length, struct head *head)
{
    uint64_t n = 0;

    if (!length || length > 18) /* less than 2^63 */
        return BAD_REQUEST;
    for (uint32_t i = 0; i < length; i++)
    {
        if (value[i] < '0' || value[i] > '9')
            return BAD_REQUEST;
        n = n * 10 + (uint64_t)(value[i] - '0');
    }
    if (head->has_length && head->content_length != n)
        return BAD_REQUEST;
    head->has_length = 1;
    head->content_length = n;
    return HEAD_DONE;
}

/* Notes the words of Connection that matter. */
static void read_connection(const char *value, uint32_t length, struct head *head)
{
    for (uint32_t i = 0, start; i < length; i++)
    {
        uint32_t end;

        while (i < length && (is_space(value[i]) || value[i] == ','))
            i++;
        for (start = i; i < length && value[i] != ','; i++)
            ;
        for (end = i; end > start && is_space(value[end - 1]); end--)
            ;
        if (http_same_text(value + start, end - start, "close"))
            head->close = 1;
        else if (http_same_text(value + start, end - start, "keep-alive"))
            head->keep_alive = 1;
    }
}

static int read_header(const char *text, const struct line *line, struct head *head)
{
    const char *name = text + line->name, *value = text + line->value;

    if (http_same_text(name, line->name_length, "Host"))
    {
        if (head->has_host)
            return BAD_REQUEST;
        head->has_host = 1;
        head->host = line->value;
        head->host_length = line->value_length;
    }
    else if (http_same_text(name, line->name_length, "Content-Length"))
        return read_length(value, line->value_length, head);
    else if (http_same_text(name, line->name_length, "Transfer-Encoding"))
    {
        if (head->chunked || head->minor == 0)
            return BAD_REQUEST;
        if (!http_same_text(value, line->value_length, "chunked"))
            return NOT_IMPLEMENTED;
        head->chunked = 1;
    }
    else if (http_same_text(name, line->name_length, "Connection"))
        read_connection(value, line->value_length, head);
    else if (http_same_text(name, line->name_length, "Expect"))
        head->expects_continue = head->minor > 0 && http_same_text(value, line->value_length, "100-continue");
    return HEAD_DONE;
}

int http_head_read(const char *text, uint32_t length, uint32_t *scanned, struct head *head)
{
    struct line line;
    uint32_t at, end = find_end(text, length < MAX_HEAD ? length : MAX_HEAD, scanned);
    int result;

    if (!end)
        return is_promising(text, length) && length < MAX_HEAD ? HEAD_MORE : BAD_REQUEST;
    memset(head, 0, sizeof(*head));
    head->length = end;
    result = read_request_line(text, head, &at);
    if (result != HEAD_DONE)
        return result;
    if (!has_form(text, at, end))
        return BAD_REQUEST;
    head->headers = at;
    while (result == HEAD_DONE && http_head_line(text, head, &at, &line))
        result = read_header(text, &line, head);
    if (result != HEAD_DONE)
        return result;
    if (head->chunked && head->has_length) /* who believes which is how requests are smuggled (RFC 9112, 6.3) */
        return BAD_REQUEST;
    if (head->minor > 0 && !head->has_host)
        return BAD_REQUEST;
    return HEAD_DONE;
}

int http_header_known(const char *name, uint32_t length)
{
    /* in the order of HTTP_HEADER_ID */
    static const char *const names[] = {
        HTTP_COMMON_HEADERS,
        "Accept",
        "Accept-Charset",
        "Accept-Encoding",
        "Accept-Language",
        "Authorization",
        "Cookie",
        "Expect",
        "From",
        "Host",
        "If-Match",
        "If-Modified-Since",
        "If-None-Match",
        "If-Range",
        "If-Unmodified-Since",
        "Max-Forwards",
        "Proxy-Authorization",
        "Referer",
        "Range",
        "TE",
        "Translate",
        "User-Agent",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (http_same_text(name, length, names[i]))
            return (int)i;
    return -1;
}

int http_method_known(const char *name, uint32_t length)
{
    /* in the order of HTTP_VERB, from HttpVerbOPTIONS */
    static const char *const names[] = {
        "OPTIONS", "GET",  "HEAD",     "POST",      "PUT",   "DELETE", "TRACE",  "CONNECT", "TRACK",
        "MOVE",    "COPY", "PROPFIND", "PROPPATCH", "MKCOL", "LOCK",   "UNLOCK", "SEARCH",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strlen(names[i]) == length && !memcmp(name, names[i], length))
            return (int)i + 3;
    return 1;
}
