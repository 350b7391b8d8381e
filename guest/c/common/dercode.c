#include "dercode.h"

#include <string.h>

BOOL der_next(struct bytes *from, BYTE *tag, struct bytes *content)
{
    SIZE_T length, at = 2;

    /* tags of more than one byte do not occur in keys */
    if (from->size < 2 || (from->data[0] & 0x1f) == 0x1f)
        return FALSE;
    length = from->data[1];
    if (length & 0x80)
    {
        unsigned count = length & 0x7f;

        if (!count || count > 4 || from->size - at < count)
            return FALSE;
        for (length = 0; count; count--)
            length = length << 8 | from->data[at++];
    }
    if (length > from->size - at)
        return FALSE;
    *tag = from->data[0];
    content->data = from->data + at;
    content->size = length;
    from->data += at + length;
    from->size -= at + length;
    return TRUE;
}

BOOL der_take(struct bytes *from, BYTE tag, struct bytes *content)
{
    struct bytes rest = *from;
    BYTE found;

    if (!der_next(&rest, &found, content) || found != tag)
        return FALSE;
    *from = rest;
    return TRUE;
}

BOOL der_take_number(struct bytes *from, struct bytes *number)
{
    struct bytes rest = *from;

    if (!der_take(&rest, DER_INTEGER, number) || !number->size || (number->data[0] & 0x80))
        return FALSE;
    while (number->size && !number->data[0])
    {
        number->data++;
        number->size--;
    }
    *from = rest;
    return TRUE;
}

BOOL der_take_small(struct bytes *from, DWORD *number)
{
    struct bytes rest = *from, content;

    if (!der_take_number(&rest, &content) || content.size > 4 || (content.size == 4 && (content.data[0] & 0x80)))
        return FALSE;
    for (*number = 0; content.size; content.size--)
        *number = *number << 8 | *content.data++;
    *from = rest;
    return TRUE;
}

BOOL der_bytes_equal(struct bytes a, const void *data, SIZE_T size)
{
    return a.size == size && !memcmp(a.data, data, size);
}

void der_put(struct der_out *out, const void *data, SIZE_T size)
{
    if (out->end && size <= out->room)
    {
        out->room -= size;
        memcpy(out->end - out->size - size, data, size);
    }
    else
    {
        out->room = 0;
    }
    out->size += size;
}

void der_wrap(struct der_out *out, BYTE tag, SIZE_T since)
{
    SIZE_T length = out->size - since;
    BYTE head[6];
    unsigned at = sizeof(head);

    if (length < 0x80)
    {
        head[--at] = (BYTE)length;
    }
    else
    {
        unsigned count = 0;

        for (; length; length >>= 8, count++)
            head[--at] = (BYTE)length;
        head[--at] = (BYTE)(0x80 | count);
    }
    head[--at] = tag;
    der_put(out, head + at, sizeof(head) - at);
}

void der_put_number(struct der_out *out, const BYTE *data, SIZE_T size)
{
    static const BYTE zero = 0;
    SIZE_T since = out->size;

    while (size && !*data)
    {
        data++;
        size--;
    }
    der_put(out, data, size);
    if (!size || (*data & 0x80))
        der_put(out, &zero, 1);
    der_wrap(out, DER_INTEGER, since);
}
