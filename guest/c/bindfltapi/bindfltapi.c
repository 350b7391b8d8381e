/*
 * bindfltapi.dll: files and folders that are seen at another place. Mullion's server mounts them; nothing is decided
 * here. No header of mingw's has these functions; as go-winio has them:
 * https://github.com/microsoft/go-winio/blob/v0.6.2/pkg/bindfilter/bind_filter.go
 */
#include "hns_client.h"

#include <objbase.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define NOT_SUPPORTED HRESULT_FROM_WIN32(ERROR_NOT_SUPPORTED)
#define TOO_SMALL HRESULT_FROM_WIN32(ERROR_INSUFFICIENT_BUFFER)

/* What BfGetMappings answers begins with; lengths and offsets are in bytes, these from the answer's begin. */
struct header
{
    ULONG size, status, count;
};

struct entry
{
    ULONG root_length, root_offset, flags, targets, targets_offset;
};

struct target
{
    ULONG length, offset;
};

/* A call whose answer, unless it is wanted, is let go. */
static HRESULT ask(struct hns_call *call, WCHAR **answer)
{
    HRESULT result = hns_call(call);

    CoTaskMemFree(call->record);
    if (answer)
        *answer = call->answer;
    else
        CoTaskMemFree(call->answer);
    return result;
}

HRESULT WINAPI BfSetupFilter(HANDLE job, ULONG flags, const WCHAR *root, const WCHAR *target,
                             const WCHAR *const *exceptions, ULONG count)
{
    WCHAR number[12];
    struct hns_call call = {.function = "BfSetupFilter", .texts = 3, .text = {number, root, target}};

    (void)exceptions;
    if (!root || !target)
        return E_POINTER;
    if (job || count)
        return NOT_SUPPORTED;
    _ultow(flags, number, 10);
    return ask(&call, NULL);
}

HRESULT WINAPI BfRemoveMapping(HANDLE job, const WCHAR *root)
{
    struct hns_call call = {.function = "BfRemoveMapping", .texts = 1, .text = {root}};

    if (!root)
        return E_POINTER;
    /* No job has a mapping of its own. */
    return job ? HRESULT_FROM_WIN32(ERROR_NOT_FOUND) : ask(&call, NULL);
}

/* The next part of a line, which ends with end; the line goes on behind it. */
static WCHAR *cut(WCHAR **line, WCHAR end)
{
    WCHAR *part = *line, *at = part ? wcschr(part, end) : NULL;

    *line = at ? at + 1 : NULL;
    if (at)
        *at = 0;
    return part;
}

/* Puts a text at an offset, which moves on, if there is room. */
static void put(BYTE *buffer, ULONG size, ULONG *offset, const WCHAR *text)
{
    ULONG length = (ULONG)(wcslen(text) * sizeof(WCHAR));

    if (*offset + length <= size)
        memcpy(buffer + *offset, text, length);
    *offset += length;
}

/* Writes mappings, a line each, as a program reads them; the needed size, of which what has room is written. */
static ULONG write_mappings(BYTE *buffer, ULONG size, WCHAR *lines, ULONG count)
{
    ULONG entries = sizeof(struct header), targets = entries + count * (ULONG)sizeof(struct entry);
    ULONG text = targets + count * (ULONG)sizeof(struct target);
    struct header header = {0, 0, count};

    for (ULONG i = 0; i < count; i++)
    {
        WCHAR *line = cut(&lines, '\n'), *flags = cut(&line, '\t'), *root = cut(&line, '\t');
        struct entry entry = {(ULONG)(wcslen(root) * sizeof(WCHAR)), text, wcstoul(flags, NULL, 10), 1, targets};
        struct target target = {(ULONG)(wcslen(line) * sizeof(WCHAR)), 0};

        put(buffer, size, &text, root);
        target.offset = text;
        put(buffer, size, &text, line);
        if (entries + sizeof(entry) <= size)
            memcpy(buffer + entries, &entry, sizeof(entry));
        if (targets + sizeof(target) <= size)
            memcpy(buffer + targets, &target, sizeof(target));
        entries += sizeof(entry);
        targets += sizeof(target);
    }
    header.size = text;
    if (size >= sizeof(header))
        memcpy(buffer, &header, sizeof(header));
    return text;
}

/* Whether each line has its three parts; how many lines there are. */
static BOOL count_lines(const WCHAR *lines, ULONG *count)
{
    *count = 0;
    while (lines && *lines)
    {
        const WCHAR *end = wcschr(lines, '\n'), *first = wcschr(lines, '\t');
        const WCHAR *second = first ? wcschr(first + 1, '\t') : NULL;

        if (!end || !second || second > end)
            return FALSE;
        lines = end + 1;
        ++*count;
    }
    return TRUE;
}

HRESULT WINAPI BfGetMappings(ULONG flags, HANDLE job, const WCHAR *root, void *sid, ULONG *size, void *buffer)
{
    WCHAR number[12], *answer = NULL;
    struct hns_call call = {.function = "BfGetMappings", .texts = 2, .text = {number, root}};
    ULONG count, needed;
    HRESULT result;

    if (!size || !root || (*size && !buffer))
        return E_POINTER;
    if (job || sid)
        return NOT_SUPPORTED;
    _ultow(flags, number, 10);
    result = ask(&call, &answer);
    if (SUCCEEDED(result) && !count_lines(answer, &count))
        result = E_UNEXPECTED;
    if (SUCCEEDED(result))
    {
        needed = write_mappings(buffer, *size, answer, count);
        result = needed > *size ? TOO_SMALL : S_OK;
        *size = needed;
    }
    CoTaskMemFree(answer);
    return result;
}
