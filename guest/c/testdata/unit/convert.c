#include "convert.h"

static unsigned take_utf16(const WCHAR *from, ULONG units, ULONG *at)
{
    unsigned c = from[(*at)++];

    if (c < 0xd800 || c > 0xdfff)
        return c;
    if (c > 0xdbff || *at >= units || from[*at] < 0xdc00 || from[*at] > 0xdfff)
        return 0xfffd;
    return 0x10000 + ((c - 0xd800) << 10) + (from[(*at)++] - 0xdc00u);
}

BOOL utf8_from(char *to, ULONG room, ULONG *length, const WCHAR *from, ULONG units)
{
    *length = 0;
    for (ULONG at = 0; at < units;)
    {
        unsigned c = take_utf16(from, units, &at), more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const BYTE heads[] = {0, 0xc0, 0xe0, 0xf0};

        if (*length + 1 + more > room)
            return FALSE;
        to[(*length)++] = (char)(heads[more] | c >> (6 * more));
        while (more > 0)
            to[(*length)++] = (char)(0x80 | (c >> (6 * --more) & 0x3f));
    }
    return TRUE;
}

static unsigned take_utf8(const BYTE *from, ULONG bytes, ULONG *at)
{
    static const unsigned least[] = {0, 0x80, 0x800, 0x10000};
    unsigned c = from[(*at)++], more = c < 0x80 ? 0 : c < 0xc0 ? 9 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf8 ? 3 : 9;
    ULONG next = *at;

    if (!more)
        return c;
    if (more > 3)
        return 0xfffd;
    c &= 0x3fu >> more;
    for (unsigned i = 0; i < more; i++, next++)
    {
        if (next >= bytes || (from[next] & 0xc0) != 0x80)
            return 0xfffd;
        c = c << 6 | (from[next] & 0x3f);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0xfffd;
    *at = next;
    return c;
}

BOOL utf16_from(WCHAR *to, ULONG room, ULONG *length, const char *from, ULONG bytes)
{
    *length = 0;
    for (ULONG at = 0; at < bytes;)
    {
        unsigned c = take_utf8((const BYTE *)from, bytes, &at);

        if (*length + (c > 0xffff ? 2 : 1) > room)
            return FALSE;
        if (c > 0xffff)
            to[(*length)++] = (WCHAR)(0xd800 + ((c - 0x10000) >> 10));
        to[(*length)++] = (WCHAR)(c > 0xffff ? 0xdc00 + ((c - 0x10000) & 0x3ff) : c);
    }
    return TRUE;
}
