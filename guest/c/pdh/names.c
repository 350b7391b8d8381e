/* Names of counters and their instances. */
#include "counters.h"

#include <pdhmsg.h>

static WCHAR lower(WCHAR c)
{
    return c >= 'A' && c <= 'Z' ? (WCHAR)(c - 'A' + 'a') : c;
}

BOOL pdh_same_name(const WCHAR *a, const WCHAR *b)
{
    for (; *a && lower(*a) == lower(*b); a++, b++)
    {
    }
    return lower(*a) == lower(*b);
}

/* Copies what there is room for, and ends it. */
void pdh_copy_name(WCHAR *to, const WCHAR *from, size_t room)
{
    size_t i = 0;

    for (; from[i] && i + 1 < room; i++)
        to[i] = from[i];
    to[i] = 0;
}

/* Writes a name that ends in a number; to has room for NAME_MAX_CHARS. */
void pdh_number_name(WCHAR *to, const WCHAR *before, unsigned long number)
{
    WCHAR digits[24];
    size_t at = 0;
    int n = 0;

    pdh_copy_name(to, before, NAME_MAX_CHARS - sizeof(digits) / sizeof(digits[0]));
    while (to[at])
        at++;
    do
        digits[n++] = (WCHAR)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        to[at++] = digits[--n];
    to[at] = 0;
}

/* Whether a name is what an instance in a path stands for: * stands for any characters. */
BOOL pdh_matches(const WCHAR *pattern, const WCHAR *name)
{
    const WCHAR *star = NULL, *from = NULL;

    while (*name)
    {
        if (*pattern == '*')
        {
            star = pattern++;
            from = name;
        }
        else if (*pattern && lower(*pattern) == lower(*name))
        {
            pattern++;
            name++;
        }
        else if (star)
        {
            pattern = star + 1;
            name = ++from;
        }
        else
        {
            return FALSE;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static BOOL take_part(WCHAR *to, const WCHAR *from, const WCHAR *end)
{
    size_t length = (size_t)(end - from);

    if (length >= PATH_PART_CHARS)
        return FALSE;
    for (size_t i = 0; i < length; i++)
        to[i] = from[i];
    to[length] = 0;
    return TRUE;
}

LONG pdh_parse_path(const WCHAR *path, WCHAR *object, WCHAR *instance, WCHAR *counter)
{
    const WCHAR *open = NULL, *close = NULL, *slash = NULL, *end;

    if (path[0] == '\\' && path[1] == '\\')
        for (path += 2; *path && *path != '\\'; path++)
        {
        }
    if (path[0] != '\\')
        return (LONG)PDH_CSTATUS_BAD_COUNTERNAME;
    path++;
    for (end = path; *end; end++)
    {
        if (*end == '(' && !open && !slash)
            open = end;
        if (*end == '\\' && (!open || end[-1] == ')') &&
            (!slash || open)) /* with an instance the last one: its name may hold any character */
        {
            slash = end;
            close = open ? end - 1 : NULL;
        }
    }
    if (!slash || slash + 1 == end)
        return (LONG)PDH_CSTATUS_BAD_COUNTERNAME;
    instance[0] = 0;
    if (!take_part(object, path, open ? open : slash) || !object[0] || !take_part(counter, slash + 1, end))
        return (LONG)PDH_CSTATUS_BAD_COUNTERNAME;
    if (open && (close - open > NAME_MAX_CHARS || !take_part(instance, open + 1, close)))
        return (LONG)PDH_CSTATUS_BAD_COUNTERNAME;
    return 0;
}
