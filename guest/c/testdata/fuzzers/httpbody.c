/* The body of a request, which comes from the network in pieces: however it is cut, it is read as the same. */
#include "http.h"

/* What was read of a text: its body, where it ended in the text, and how. */
struct outcome
{
    size_t written, used;
    int bad, ended;
    uint8_t *out;
};

static struct outcome read_body(const struct head *head, const uint8_t *text, size_t size, size_t step, size_t room)
{
    struct outcome o = {.out = malloc(size)};
    struct body body;
    size_t come = 0;

    http_body_start(&body, head);
    while (!body.bad && !http_body_ended(&body))
    {
        size_t used = 0, n, left = size - o.written < room ? size - o.written : room;
        uint8_t *block, *out;

        come = come + step < size ? come + step : size;
        block = fuzz_copy(text + o.used, come - o.used);
        out = malloc(left);
        n = http_body_read(&body, block, come - o.used, &used, out, left);
        if (used > come - o.used || n > left || n > used)
            fuzz_fail("what is taken is there", (long long)used, (long long)(come - o.used));
        memcpy(o.out + o.written, out, n);
        free(out);
        free(block);
        o.written += n;
        o.used += used;
        if (!n && !used && come == size)
            break;
    }
    o.bad = body.bad;
    o.ended = http_body_ended(&body);
    return o;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    uint8_t kind = fuzz_byte(&data, &size);
    size_t step = fuzz_byte(&data, &size) % 64 + 1, room = fuzz_byte(&data, &size) % 64 + 1;
    struct head head = {.chunked = kind & 1, .has_length = !(kind & 1)};
    struct outcome whole, pieces;

    for (unsigned i = 0; i < sizeof(head.content_length) && !(kind & 1) && i < (kind >> 1) % 9u; i++)
        head.content_length = head.content_length << 8 | fuzz_byte(&data, &size);
    whole = read_body(&head, data, size, size + 1, size + 1);
    pieces = read_body(&head, data, size, step, room);
    if (pieces.bad != whole.bad || pieces.ended != whole.ended)
        fuzz_fail("a body in pieces", pieces.bad * 2 + pieces.ended, whole.bad * 2 + whole.ended);
    if (whole.ended && pieces.used != whole.used)
        fuzz_fail("the end of a body in pieces", (long long)pieces.used, (long long)whole.used);
    if (pieces.written != whole.written || memcmp(pieces.out, whole.out, whole.written))
        fuzz_fail("the bytes of a body in pieces", (long long)pieces.written, (long long)whole.written);
    free(whole.out);
    free(pieces.out);
}
