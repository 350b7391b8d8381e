/*
 * URLs: the prefix that a program registers, and what a request asks for, which is a request line and a host. The lines
 * of the input are the three.
 */
#include "http.h"

#include <stdio.h>

enum
{
    MOST_LINE = 4096
};

/* The next line of the input, without its end. */
static struct
{
    const uint8_t *at;
    size_t size;
} line;

static void next_line(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;

    line.at = *data;
    line.size = end ? (size_t)(end - *data) : *size;
    *data += line.size + (end != NULL);
    *size -= line.size + (end != NULL);
}

/* Makes characters of UTF-16 of the line; bytes of 0xfe and 0xff make one of the two that follow. */
static uint16_t *wide_line(uint32_t *length)
{
    uint16_t *text = malloc(line.size * sizeof(*text)), *exact;

    *length = 0;
    for (size_t i = 0; i < line.size; i++)
    {
        uint16_t c = line.at[i];

        if (c >= 0xfe && line.size - i > 2)
        {
            c = (uint16_t)(line.at[i + 1] << 8 | line.at[i + 2]);
            i += 2;
        }
        text[(*length)++] = c;
    }
    exact = fuzz_copy(text, *length * sizeof(*text));
    free(text);
    return exact;
}

/* No segment of a path that programs get is . or .. */
static void check_path(const struct cooked *cooked)
{
    const uint16_t *path = cooked->text + cooked->path;

    for (uint32_t from = 0, at = 0; at <= cooked->path_length; at++)
    {
        uint32_t dots = at - from;

        if (at < cooked->path_length && path[at] != '/')
            continue;
        while (dots && path[from + dots - 1] == '.')
            dots--;
        if (!dots && (at - from == 1 || at - from == 2))
            fuzz_fail("dots in a path", at - from, 0);
        from = at + 1;
    }
}

static void check_cooked(const struct cooked *cooked)
{
    if (cooked->name_length > cooked->host_length || cooked->host + cooked->host_length > cooked->path ||
        cooked->path + cooked->path_length > cooked->query)
        fuzz_fail("the parts of a URL are in order", 0, 1);
    for (uint32_t i = 0; i < cooked->query + cooked->query_length; i++)
        if (!cooked->text[i])
            fuzz_fail("a zero in a URL", i, -1);
    check_path(cooked);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct cooked cooked = {0};
    struct prefix prefix;
    struct head head;
    uint32_t length, scanned = 0;
    uint16_t *text;
    char *request, *exact;
    int n, is_prefix, fits;

    next_line(&data, &size);
    text = wide_line(&length);
    is_prefix = http_prefix_read(&prefix, text, length) == PREFIX_OK;
    free(text);
    if (is_prefix && !http_prefix_same(&prefix, &prefix))
        fuzz_fail("a prefix is the same as itself", 0, 1);

    request = malloc(3 * MOST_LINE);
    next_line(&data, &size);
    n = sprintf(request, "GET %.*s HTTP/1.1\r\n", (int)(line.size < MOST_LINE ? line.size : MOST_LINE),
                (const char *)line.at);
    next_line(&data, &size);
    n += sprintf(request + n, "Host: %.*s\r\n\r\n", (int)(line.size < MOST_LINE ? line.size : MOST_LINE),
                 (const char *)line.at);
    exact = fuzz_copy(request, (size_t)n);
    free(request);
    if (http_head_read(exact, (uint32_t)n, &scanned, &head) == HEAD_DONE &&
        http_cook(&cooked, exact, &head, &here, 8080) == HEAD_DONE)
    {
        check_cooked(&cooked);
        if (is_prefix)
            http_prefix_fit(&prefix, &cooked, &here, 8080, &fits);
    }
    free(exact);
    http_memory_free(cooked.text);
    http_prefix_free(&prefix);
}
