/* Names of Linux that Windows does not have. */
#include "names.h"

#include <string.h>

#define RANGE 0xF000 /* where the characters stand */

/* Whether a character of the private range stands for the byte in its low half. No name has the bytes 0 and '/'. */
static BOOL stands(WCHAR c)
{
    return (c & 0xFF00) == RANGE && c != RANGE && c != RANGE + '/';
}

/* The bytes of the character at s, or 0: it is no UTF-8. c is set to its value. */
static unsigned decode(const BYTE *s, UINT32 *c)
{
    static const UINT32 least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned bytes = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;

    if (!bytes)
        return 0;
    *c = bytes == 1 ? s[0] : s[0] & (0x7F >> bytes);
    for (unsigned i = 1; i < bytes; i++) /* the zero at the end continues no character */
    {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        *c = *c << 6 | (s[i] & 0x3F);
    }
    return *c < least[bytes] || *c > 0x10FFFF || (*c >= 0xD800 && *c <= 0xDFFF) ? 0 : bytes;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* Whether Win32 takes a name for that of a device, whatever follows a dot or a colon (RtlIsDosDeviceName_U). */
static BOOL is_device(const char *name, SIZE_T length)
{
    static const char names[][8] = {"con", "prn", "aux", "nul", "conin$", "conout$"};
    SIZE_T end = 0, i;

    while (end < length && name[end] != '.' && name[end] != ':')
        end++;
    while (end > 0 && name[end - 1] == ' ')
        end--;
    if (end == 4 && name[3] >= '1' && name[3] <= '9' && lower(name[2]) == (lower(name[0]) == 'c' ? 'm' : 't'))
        return (lower(name[0]) == 'c' && lower(name[1]) == 'o') || (lower(name[0]) == 'l' && lower(name[1]) == 'p');
    for (unsigned n = 0; n < sizeof(names) / sizeof(*names); n++)
    {
        for (i = 0; i < end && names[n][i] == lower(name[i]); i++)
            ;
        if (i == end && !names[n][i] && end > 0)
            return TRUE;
    }
    return FALSE;
}

/* Whether a character of a name stands for itself. last: it ends the name. */
static BOOL is_plain(UINT32 c, BOOL last)
{
    if (c < 0x20 || (c < 0x80 && strchr("\\*?|<>\":", (int)c)))
        return FALSE;
    if (last && (c == '.' || c == ' '))
        return FALSE;
    return c > 0xFFFF || !stands((WCHAR)c);
}

static ULONG put(WCHAR *name, UINT32 c)
{
    if (c <= 0xFFFF)
    {
        name[0] = (WCHAR)c;
        return 1;
    }
    name[0] = (WCHAR)(0xD7C0 + (c >> 10));
    name[1] = (WCHAR)(0xDC00 + (c & 0x3FF));
    return 2;
}

/* The name of so many bytes. It has at most one character for each of them. */
static ULONG from_linux(const char *disk, SIZE_T bytes, WCHAR *name)
{
    BOOL dots = (bytes == 1 && disk[0] == '.') || (bytes == 2 && disk[0] == '.' && disk[1] == '.');
    BOOL device = is_device(disk, bytes);
    ULONG length = 0;
    UINT32 c = 0;

    for (SIZE_T at = 0; at < bytes;)
    {
        unsigned more = decode((const BYTE *)disk + at, &c);

        if (more && at + more <= bytes && (dots || is_plain(c, at + more == bytes)) && !(device && !at))
        {
            length += put(name + length, c);
            at += more;
        }
        else
        {
            name[length++] = (WCHAR)(RANGE + (BYTE)disk[at]);
            at++;
        }
    }
    return length;
}

/* The bytes of a character and, if it is half of a pair, of the other half; used is how many characters those were. */
static ULONG to_bytes(const WCHAR *name, ULONG left, BYTE *bytes, ULONG *used)
{
    UINT32 c = name[0];

    *used = 1;
    if (stands(name[0]))
    {
        bytes[0] = (BYTE)c;
        return 1;
    }
    if (c >= 0xD800 && c <= 0xDBFF && left > 1 && name[1] >= 0xDC00 && name[1] <= 0xDFFF)
    {
        c = 0x10000 + ((c - 0xD800) << 10) + (name[1] - 0xDC00u);
        *used = 2;
    }
    else if (c >= 0xD800 && c <= 0xDFFF)
        c = 0xFFFD; /* half a pair, as RtlUnicodeToUTF8N has it */
    if (c < 0x80)
    {
        bytes[0] = (BYTE)c;
        return 1;
    }
    if (c < 0x800)
    {
        bytes[0] = (BYTE)(0xC0 | c >> 6);
        bytes[1] = (BYTE)(0x80 | (c & 0x3F));
        return 2;
    }
    bytes[0] = (BYTE)(c < 0x10000 ? 0xE0 | c >> 12 : 0xF0 | c >> 18);
    bytes[1] = (BYTE)(0x80 | ((c >> (c < 0x10000 ? 6 : 12)) & 0x3F));
    bytes[2] = (BYTE)(0x80 | ((c >> (c < 0x10000 ? 0 : 6)) & 0x3F));
    bytes[3] = (BYTE)(0x80 | (c & 0x3F));
    return c < 0x10000 ? 3 : 4;
}

BOOL name_stands(const WCHAR *name, ULONG length)
{
    for (ULONG i = 0; i < length; i++)
        if (stands(name[i]))
            return TRUE;
    return FALSE;
}

BOOL name_differs(const char *disk)
{
    SIZE_T bytes = strlen(disk);
    WCHAR name[NAME_ROOM];
    ULONG length;

    if (bytes >= NAME_ROOM)
        return FALSE;
    length = from_linux(disk, bytes, name);
    for (ULONG i = 0; i < length; i++)
        if (stands(name[i]) || name[i] == 0xFFFD) /* Wine writes U+FFFD for what is no UTF-8 */
            return TRUE;
    return FALSE;
}

BOOL name_of_wine_differs(const WCHAR *name, ULONG length)
{
    BOOL dots = (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
    char ascii[NAME_ROOM]; /* what else a device's name has is of no matter */
    ULONG i;

    for (i = 0; i < length && !dots; i++)
        if (name[i] == 0xFFFD || !is_plain(name[i], i + 1 == length)) /* half of a pair is plain */
            return TRUE;
    for (i = 0; i < length && i < sizeof(ascii); i++)
        ascii[i] = name[i] < 0x80 ? (char)name[i] : 'x';
    return is_device(ascii, i);
}

SIZE_T name_bytes(const char *path)
{
    SIZE_T bytes = 0;

    while (path[bytes] && path[bytes] != '/')
        bytes++;
    return bytes;
}

ULONG name_from_linux(const char *disk, WCHAR *name)
{
    SIZE_T bytes = strlen(disk);
    ULONG length = from_linux(disk, bytes < NAME_ROOM ? bytes : NAME_ROOM - 1, name);

    name[length] = 0;
    return length;
}

BOOL name_to_linux(const WCHAR *name, ULONG length, char *disk)
{
    WCHAR back[NAME_ROOM];
    BYTE bytes[4];
    ULONG at = 0, used, more;

    for (ULONG i = 0; i < length; i += used)
    {
        more = to_bytes(name + i, length - i, bytes, &used);
        if (at + more >= NAME_ROOM || !name[i] || name[i] == '/' || name[i] == '\\')
            return FALSE;
        memcpy(disk + at, bytes, more);
        at += more;
    }
    disk[at] = 0;
    if (!name_stands(name, length))
        return TRUE;
    /* else another name stands for it */
    return from_linux(disk, at, back) == length && !memcmp(back, name, length * sizeof(WCHAR));
}

ULONG names_from_path(const char *path, WCHAR *names, ULONG room)
{
    ULONG at = 0;

    while (*path)
    {
        SIZE_T bytes = name_bytes(path), fit = min(bytes, (SIZE_T)room - 1 - at);

        at += from_linux(path, fit, names + at);
        path += bytes;
        if (fit < bytes || at + 1 >= room)
            break;
        if (*path && path++)
            names[at++] = '\\';
    }
    names[at] = 0;
    return at;
}

ULONG names_to_path(const WCHAR *names, ULONG length, char *path, ULONG room)
{
    ULONG at = 0, used, more;
    BYTE bytes[4];

    for (ULONG i = 0; i < length; i += used)
    {
        more = to_bytes(names + i, length - i, bytes, &used);
        if (at + more >= room)
            break;
        if (names[i] == '\\')
            bytes[0] = '/';
        memcpy(path + at, bytes, more);
        at += more;
    }
    path[at] = 0;
    return at;
}
