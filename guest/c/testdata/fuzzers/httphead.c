/* The head of a request, which comes from the network in pieces: however it is cut, it is read as the same. */
#include "http.h"

/* Reads the head as it comes, in pieces of step bytes; come is what was there at the end. */
static int read_in_pieces(const uint8_t *text, size_t size, size_t step, struct head *head, size_t *come)
{
    uint32_t scanned = 0;
    int result;

    *come = 0;
    do
    {
        char *block;

        *come = *come + step < size ? *come + step : size;
        block = fuzz_copy(text, *come);
        result = http_head_read(block, (uint32_t)*come, &scanned, head);
        free(block);
    } while (result == HEAD_MORE && *come < size);
    return result;
}

static void walk(const char *text, const struct head *head)
{
    struct cooked cooked = {0};
    struct line line;

    if (head->method_length > head->length || head->url > head->length || head->url_length > head->length - head->url ||
        head->host > head->length || head->host_length > head->length - head->host)
        fuzz_fail("a part of a head ends within it", 0, 1);
    for (uint32_t at = head->headers; http_head_line(text, head, &at, &line);)
    {
        if (line.name_length > head->length || line.value > head->length ||
            line.value_length > head->length - line.value)
            fuzz_fail("a line ends within the head", 0, 1);
        http_header_known(text + line.name, line.name_length);
    }
    http_method_known(text, head->method_length);
    http_cook(&cooked, text, head, &here, 80);
    http_memory_free(cooked.text);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    size_t step = fuzz_byte(&data, &size) % 64 + 1, come;
    struct head whole = {0}, pieces = {0};
    uint32_t scanned = 0;
    char *text = fuzz_copy(data, size);
    int result = http_head_read(text, (uint32_t)size, &scanned, &whole);

    if (read_in_pieces(data, size, step, &pieces, &come) != result)
        fuzz_fail("a head in pieces", 0, result);
    if (result == HEAD_DONE)
    {
        if (memcmp(&whole, &pieces, sizeof(whole)))
            fuzz_fail("a head in pieces is the same", 0, 1);
        if (whole.length > size || whole.length > MAX_HEAD)
            fuzz_fail("the length of a head", whole.length, (long long)size);
        walk(text, &whole);
    }
    free(text);
}
