/* The files of a log: their names, and the records that are whole in one. */
#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

BOOL evt_log_name_fits(const WCHAR *log)
{
    size_t length = log ? wcslen(log) : 0;

    if (!length || length > 200 || log[0] == '.' || log[0] == ' ' || log[length - 1] == '.' || log[length - 1] == ' ')
        return FALSE;
    for (; *log; log++)
    {
        if (*log < ' ' || wcschr(L"\\:*?\"<>|%", *log))
            return FALSE;
    }
    return TRUE;
}

/* As Windows names files of logs: a / of a channel is %4. */
void evt_log_path(const WCHAR *log, WCHAR *path)
{
    UINT length = GetSystemDirectoryW(path, MAX_PATH);

    wcscpy(path + length, L"\\winevt\\Logs\\");
    for (path += wcslen(path); *log; log++)
    {
        if (*log == '/')
            *path++ = '%', *path++ = '4';
        else
            *path++ = *log;
    }
    *path = 0;
}

static void file_name(const WCHAR *log, DWORD number, WCHAR *path)
{
    evt_log_path(log, path);
    swprintf(path + wcslen(path), 16, L".%08u.mlog", (unsigned)number);
}

/* The number in a file's name, 0 if it has none. */
static DWORD number_of(const WCHAR *name, size_t skipped)
{
    DWORD number = 0;

    if (wcslen(name) != skipped + 14 || name[skipped] != '.')
        return 0;
    for (unsigned i = 1; i <= 8; i++)
    {
        if (name[skipped + i] < '0' || name[skipped + i] > '9')
            return 0;
        number = number * 10 + (DWORD)(name[skipped + i] - '0');
    }
    return number;
}

/* The numbers of a log's files, in order. */
unsigned evt_list_files(const WCHAR *log, DWORD *numbers)
{
    WCHAR path[LOG_PATH_CHARS + 16];
    size_t skipped;
    WIN32_FIND_DATAW found;
    unsigned count = 0;
    HANDLE search;
    DWORD number;

    evt_log_path(log, path);
    skipped = wcslen(wcsrchr(path, '\\') + 1);
    wcscat(path, L".*.mlog");
    if ((search = FindFirstFileW(path, &found)) == INVALID_HANDLE_VALUE)
        return 0;
    do
    {
        unsigned at;

        if (!(number = number_of(found.cFileName, skipped)))
            continue;
        for (at = count < MOST_LISTED ? count++ : count - 1; at && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    } while (FindNextFileW(search, &found));
    FindClose(search);
    return count;
}

HANDLE evt_open_file(const WCHAR *log, DWORD number, DWORD access, DWORD how)
{
    WCHAR path[LOG_PATH_CHARS + 16];

    file_name(log, number, path);
    return CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, how,
                       FILE_FLAG_OPEN_REPARSE_POINT, NULL);
}

BOOL evt_delete_file(const WCHAR *log, DWORD number)
{
    WCHAR path[LOG_PATH_CHARS + 16];

    file_name(log, number, path);
    return DeleteFileW(path);
}

void evt_segment_end(struct segment *segment)
{
    free(segment->bytes);
    free(segment->places);
    memset(segment, 0, sizeof(*segment));
}

static BOOL segment_add(struct segment *segment, DWORD place)
{
    if (segment->count % 64 == 0)
    {
        DWORD *places = realloc(segment->places, (segment->count + 64) * sizeof(DWORD));

        if (!places)
            return FALSE;
        segment->places = places;
    }
    segment->places[segment->count++] = place;
    return TRUE;
}

const struct record *evt_segment_record(const struct segment *segment, DWORD number)
{
    return (const struct record *)(segment->bytes + segment->places[number]);
}

/* Finds the records of what has been read; those of identifiers that do not grow are none. */
static BOOL segment_scan(struct segment *segment)
{
    UINT64 last = 0;
    SIZE_T at = sizeof(struct file_head);

    while ((at = evt_record_find(segment->bytes, segment->size, at)) < segment->size)
    {
        const struct record *record = (const struct record *)(segment->bytes + at);

        if (record->id > last && !segment_add(segment, (DWORD)at))
            return FALSE;
        last = max(last, record->id);
        at += record->size;
    }
    return TRUE;
}

BOOL evt_read_at(HANDLE file, DWORD place, void *bytes, DWORD size)
{
    OVERLAPPED from = {0};
    DWORD done;

    from.Offset = place;
    return ReadFile(file, bytes, size, &done, &from) && done == size;
}

/* Reads a file of a log into an empty segment. */
BOOL evt_segment_read(struct segment *segment, const WCHAR *log, DWORD number)
{
    HANDLE file = evt_open_file(log, number, GENERIC_READ, OPEN_EXISTING);
    struct file_head head;
    LARGE_INTEGER size;
    BOOL ok = FALSE;

    if (file == INVALID_HANDLE_VALUE)
        return FALSE;
    if (GetFileSizeEx(file, &size) && size.QuadPart >= (LONGLONG)sizeof(head) && size.QuadPart <= 2 * MOST_FILE_BYTES &&
        evt_read_at(file, 0, &head, sizeof(head)) && head.magic == FILE_MAGIC && head.version == FILE_VERSION &&
        head.first)
    {
        segment->number = number;
        segment->first = head.first;
        segment->size = (DWORD)size.QuadPart;
        ok = (segment->bytes = malloc(segment->size)) && evt_read_at(file, 0, segment->bytes, segment->size) &&
             segment_scan(segment);
    }
    CloseHandle(file);
    if (!ok)
        evt_segment_end(segment);
    return ok;
}

/* The identifier after the last record of a segment. */
UINT64 evt_segment_next(const struct segment *segment)
{
    return segment->count ? evt_segment_record(segment, segment->count - 1)->id + 1 : segment->first;
}

/* The place after the last record of a segment. */
DWORD evt_segment_tail(const struct segment *segment)
{
    return segment->count ? segment->places[segment->count - 1] + evt_segment_record(segment, segment->count - 1)->size
                          : sizeof(struct file_head);
}
