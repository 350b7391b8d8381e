/* Addresses as text (RFC 3986, 3.2.2). */
#include "ipaddress.h"

#include <string.h>

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/*
 * A number of at most four digits up to the end or a character that is none; the number of its digits, 0: there is
 * none.
 */
static uint32_t number(const char *text, uint32_t length, unsigned base, uint32_t *value)
{
    uint32_t i;

    *value = 0;
    for (i = 0; i < length && i < 4; i++)
    {
        char c = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : base;

        if (digit >= base)
            break;
        *value = *value * base + digit;
    }
    return i;
}

static int read4(uint8_t out[4], const char *text, uint32_t length)
{
    for (int i = 0; i < 4; i++)
    {
        uint32_t value, digits = number(text, length, 10, &value);

        if (!digits || digits > 3 || value > 255)
            return 0;
        out[i] = (uint8_t)value;
        text += digits;
        length -= digits;
        if (i == 3)
            return !length;
        if (!length || *text != '.')
            return 0;
        text++;
        length--;
    }
    return 0;
}

static int read6(uint8_t out[16], const char *text, uint32_t length)
{
    uint8_t parts[16] = {0};
    uint32_t n = 0, gap = 17, at = 0;

    while (at < length)
    {
        uint32_t value, digits;

        if (length - at >= 2 && text[at] == ':' && text[at + 1] == ':')
        {
            if (gap != 17)
                return 0;
            gap = n;
            at += 2;
            if (at == length)
                break;
        }
        else if (n && (text[at] != ':' || ++at == length))
            return 0;
        digits = number(text + at, length - at, 16, &value);
        if (at + digits < length && text[at + digits] == '.' && n <= 12 && read4(parts + n, text + at, length - at))
        {
            n += 4;
            break;
        }
        if (!digits || n == 16)
            return 0;
        parts[n++] = (uint8_t)(value >> 8);
        parts[n++] = (uint8_t)value;
        at += digits;
    }
    if (gap == 17)
    {
        memcpy(out, parts, 16);
        return n == 16;
    }
    if (n >= 16)
        return 0;
    memset(out, 0, 16);
    memcpy(out, parts, gap);
    memcpy(out + 16 - (n - gap), parts + gap, n - gap);
    return 1;
}

int ipaddress_read(struct address *address, const char *text, uint32_t length)
{
    if (length > 2 && text[0] == '[' && text[length - 1] == ']')
        return read6(address->bytes, text + 1, length - 2);
    memcpy(address->bytes, mapped, sizeof(mapped));
    return read4(address->bytes + 12, text, length);
}

uint32_t ipaddress_write(const struct address *address, char text[64])
{
    static const char digits[] = "0123456789abcdef";
    uint32_t n = 0;

    if (!memcmp(address->bytes, mapped, sizeof(mapped)))
    {
        for (int i = 12; i < 16; i++)
        {
            uint8_t b = address->bytes[i];

            if (i > 12)
                text[n++] = '.';
            if (b >= 100)
                text[n++] = digits[b / 100];
            if (b >= 10)
                text[n++] = digits[b / 10 % 10];
            text[n++] = digits[b % 10];
        }
        return n;
    }
    text[n++] = '[';
    for (int i = 0; i < 16; i += 2)
    {
        if (i)
            text[n++] = ':';
        for (int shift = 4, begun = 0, part = address->bytes[i] << 8 | address->bytes[i + 1]; shift > 0; shift--)
        {
            int digit = part >> (4 * (shift - 1)) & 15;

            begun |= digit || shift == 1;
            if (begun)
                text[n++] = digits[digit];
        }
    }
    text[n++] = ']';
    return n;
}
