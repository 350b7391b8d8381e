/*
 * The logs of a prefix, in C:\Windows\System32\winevt\Logs.
 *
 * Who writes or clears a log holds the lock of the file <log>.lock, which the system takes from a process that ends. Readers take no lock: they believe a record
 * whose checksum fits. A writer cuts off what another left half written, appends, and begins another file when one has an eighth of the log's size; the oldest
 * file of more than eight goes with its events. Every user may put files into the folder, so links there are never followed.
 */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "channels.h"

enum
{
    DEFAULT_BYTES = 20 << 20,
    LEAST_FILE_BYTES = MOST_RECORD + (8 << 10),
    MOST_FILE_BYTES = 64 << 20,
    LOCK_WAIT = 10000, /* ms */
    LAST_NUMBER = 99999999,
    MOST_LISTED = 64 /* files of a log; whoever puts more there has the others ignored */
};

BOOL log_name_fits(const WCHAR *log)
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
void log_path(const WCHAR *log, WCHAR *path)
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

static void make_folder(void)
{
    WCHAR path[MAX_PATH + 32];
    UINT length = GetSystemDirectoryW(path, MAX_PATH);

    wcscpy(path + length, L"\\winevt");
    CreateDirectoryW(path, NULL);
    wcscat(path, L"\\Logs");
    CreateDirectoryW(path, NULL);
}

DWORD log_most_bytes(const WCHAR *log)
{
    DWORD bytes = log_number(log, L"MaxSize", DEFAULT_BYTES);

    return bytes / LOG_FILES < LEAST_FILE_BYTES ? LEAST_FILE_BYTES * LOG_FILES : bytes;
}

static DWORD file_most_bytes(const WCHAR *log)
{
    return min(log_most_bytes(log) / LOG_FILES, MOST_FILE_BYTES);
}

/* Takes the lock of a log; INVALID_HANDLE_VALUE: the last error says why not. */
static HANDLE lock_log(const WCHAR *log)
{
    WCHAR path[LOG_PATH_CHARS + 8];
    OVERLAPPED place = {0};
    HANDLE file;

    log_path(log, path);
    wcscat(path, L".lock");
    file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_ALWAYS,
                       FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE && GetLastError() == ERROR_PATH_NOT_FOUND)
    {
        make_folder();
        file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_ALWAYS,
                           FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    }
    if (file == INVALID_HANDLE_VALUE)
        return file;
    for (DWORD waited = 0; !LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place); waited++)
    {
        if (waited >= LOCK_WAIT)
        {
            CloseHandle(file);
            SetLastError(ERROR_LOCK_VIOLATION);
            return INVALID_HANDLE_VALUE;
        }
        Sleep(1);
    }
    return file;
}

static void file_name(const WCHAR *log, DWORD number, WCHAR *path)
{
    log_path(log, path);
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
static unsigned list_files(const WCHAR *log, DWORD *numbers)
{
    WCHAR path[LOG_PATH_CHARS + 16];
    size_t skipped;
    WIN32_FIND_DATAW found;
    unsigned count = 0;
    HANDLE search;
    DWORD number;

    log_path(log, path);
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

static HANDLE open_file(const WCHAR *log, DWORD number, DWORD access, DWORD how)
{
    WCHAR path[LOG_PATH_CHARS + 16];

    file_name(log, number, path);
    return CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, how, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
}

static BOOL delete_file(const WCHAR *log, DWORD number)
{
    WCHAR path[LOG_PATH_CHARS + 16];

    file_name(log, number, path);
    return DeleteFileW(path);
}

static void segment_end(struct segment *segment)
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

static const struct record *segment_record(const struct segment *segment, DWORD number)
{
    return (const struct record *)(segment->bytes + segment->places[number]);
}

/* Finds the records of what has been read; those of identifiers that do not grow are none. */
static BOOL segment_scan(struct segment *segment)
{
    UINT64 last = 0;
    SIZE_T at = sizeof(struct file_head);

    while ((at = record_find(segment->bytes, segment->size, at)) < segment->size)
    {
        const struct record *record = (const struct record *)(segment->bytes + at);

        if (record->id > last && !segment_add(segment, (DWORD)at))
            return FALSE;
        last = max(last, record->id);
        at += record->size;
    }
    return TRUE;
}

static BOOL read_at(HANDLE file, DWORD place, void *bytes, DWORD size)
{
    OVERLAPPED from = {0};
    DWORD done;

    from.Offset = place;
    return ReadFile(file, bytes, size, &done, &from) && done == size;
}

/* Reads a file of a log into an empty segment. */
static BOOL segment_read(struct segment *segment, const WCHAR *log, DWORD number)
{
    HANDLE file = open_file(log, number, GENERIC_READ, OPEN_EXISTING);
    struct file_head head;
    LARGE_INTEGER size;
    BOOL ok = FALSE;

    if (file == INVALID_HANDLE_VALUE)
        return FALSE;
    if (GetFileSizeEx(file, &size) && size.QuadPart >= (LONGLONG)sizeof(head) && size.QuadPart <= 2 * MOST_FILE_BYTES &&
        read_at(file, 0, &head, sizeof(head)) && head.magic == FILE_MAGIC && head.version == FILE_VERSION && head.first)
    {
        segment->number = number;
        segment->first = head.first;
        segment->size = (DWORD)size.QuadPart;
        ok = (segment->bytes = malloc(segment->size)) && read_at(file, 0, segment->bytes, segment->size) && segment_scan(segment);
    }
    CloseHandle(file);
    if (!ok)
        segment_end(segment);
    return ok;
}

/* The identifier after the last record of a segment. */
static UINT64 segment_next(const struct segment *segment)
{
    return segment->count ? segment_record(segment, segment->count - 1)->id + 1 : segment->first;
}

/* The place after the last record of a segment. */
static DWORD segment_tail(const struct segment *segment)
{
    return segment->count ? segment->places[segment->count - 1] + segment_record(segment, segment->count - 1)->size : sizeof(struct file_head);
}

/* Where the next record of a log goes, as this process knew it last. */
struct writing
{
    struct writing *next;
    WCHAR log[LOG_CHARS];
    DWORD number, tail; /* of the newest file; 0: none */
    UINT64 id;
};

static CRITICAL_SECTION lock;
static struct writing *known;

void store_start(void)
{
    InitializeCriticalSection(&lock);
}

static struct writing *writing_of(const WCHAR *log)
{
    struct writing *w;

    for (w = known; w; w = w->next)
    {
        if (!_wcsicmp(w->log, log))
            return w;
    }
    if ((w = calloc(1, sizeof(*w))))
    {
        wcscpy(w->log, log);
        w->next = known;
        known = w;
    }
    return w;
}

/* Reads what a log has become since this process looked. Files that are none of ours count by their number only. */
static void look(struct writing *w)
{
    DWORD numbers[MOST_LISTED];
    unsigned count = list_files(w->log, numbers);
    struct segment segment = {0};
    LARGE_INTEGER size;
    HANDLE file;

    if (count && numbers[count - 1] == w->number && (file = open_file(w->log, w->number, GENERIC_READ, OPEN_EXISTING)) != INVALID_HANDLE_VALUE)
    {
        BOOL same = GetFileSizeEx(file, &size) && size.QuadPart == w->tail;

        CloseHandle(file);
        if (same)
            return;
    }
    w->number = count ? numbers[count - 1] : 0;
    w->tail = 0; /* another file must be begun */
    w->id = max(w->id, 1);
    for (unsigned i = count; i--;)
    {
        if (!segment_read(&segment, w->log, numbers[i]))
            continue;
        w->id = max(w->id, segment_next(&segment));
        if (i == count - 1)
            w->tail = segment_tail(&segment);
        segment_end(&segment);
        break;
    }
}

/* Writes to the end of the newest file; what a failure leaves there does not count as a record. */
static DWORD write_tail(struct writing *w, const void *bytes, DWORD size)
{
    HANDLE file = open_file(w->log, w->number, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS);
    OVERLAPPED to = {0};
    LARGE_INTEGER end;
    DWORD done, error = ERROR_SUCCESS;

    if (file == INVALID_HANDLE_VALUE)
        return GetLastError();
    end.QuadPart = to.Offset = w->tail;
    if (!SetFilePointerEx(file, end, NULL, FILE_BEGIN) || !SetEndOfFile(file) || !WriteFile(file, bytes, size, &done, &to))
        error = GetLastError();
    else if (done != size)
        error = ERROR_DISK_FULL;
    if (error && SetFilePointerEx(file, end, NULL, FILE_BEGIN))
        SetEndOfFile(file);
    CloseHandle(file);
    if (!error)
        w->tail += size;
    return error;
}

/* Begins another file, and lets the oldest go. */
static DWORD begin_file(struct writing *w, unsigned kept)
{
    struct file_head head = {FILE_MAGIC, FILE_VERSION, w->id};
    DWORD numbers[MOST_LISTED], error;
    unsigned count;

    if (w->number >= LAST_NUMBER)
        return ERROR_LOG_FILE_FULL;
    w->number++;
    w->tail = 0;
    if ((error = write_tail(w, &head, sizeof(head))))
        return error;
    count = list_files(w->log, numbers);
    for (unsigned i = 0; i + kept < count; i++)
    {
        if (!delete_file(w->log, numbers[i]))
            error = GetLastError();
    }
    return kept == 1 ? error : ERROR_SUCCESS;
}

static DWORD append(struct writing *w, struct record *record, DWORD size, const struct event_parts *parts)
{
    DWORD error;

    look(w);
    if (!w->tail || w->tail + size > file_most_bytes(w->log))
    {
        if ((error = begin_file(w, LOG_FILES)))
            return error;
    }
    record_write(record, size, w->id, parts);
    if (!(error = write_tail(w, record, size)))
        w->id++;
    return error;
}

/* Calls append, or begin_file to clear, with the locks of this process and of all. */
static DWORD change(const WCHAR *log, struct record *record, DWORD size, const struct event_parts *parts)
{
    struct writing *w;
    DWORD error = ERROR_NOT_ENOUGH_MEMORY;
    HANDLE file;

    EnterCriticalSection(&lock);
    if ((file = lock_log(log)) == INVALID_HANDLE_VALUE)
        error = GetLastError();
    else if ((w = writing_of(log)))
    {
        if (record)
            error = append(w, record, size, parts);
        else
        {
            look(w);
            error = begin_file(w, 1);
        }
    }
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    LeaveCriticalSection(&lock);
    return error;
}

DWORD log_append(const WCHAR *log, const struct event_parts *parts)
{
    DWORD size = record_size(parts), error;
    struct record *record;

    if (!size)
        return RPC_S_INVALID_BOUND; /* as Windows answers */
    if (!(record = malloc(size)))
        return ERROR_NOT_ENOUGH_MEMORY;
    error = change(log, record, size, parts);
    free(record);
    return error;
}

DWORD log_clear(const WCHAR *log)
{
    return change(log, NULL, 0, NULL);
}

void reader_init(struct reader *reader, const WCHAR *log)
{
    memset(reader, 0, sizeof(*reader));
    wcscpy(reader->log, log);
}

void reader_end(struct reader *reader)
{
    segment_end(&reader->segment);
}

/* The number of the first record of a segment whose identifier is id or larger. */
static DWORD segment_seek(const struct segment *segment, UINT64 id)
{
    DWORD low = 0, high = segment->count;

    while (low < high)
    {
        DWORD middle = low + (high - low) / 2;

        if (segment_record(segment, middle)->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct record *find_in(const struct segment *segment, UINT64 id, BOOL backward)
{
    DWORD at = segment_seek(segment, id);

    if (!backward)
        return at < segment->count ? segment_record(segment, at) : NULL;
    if (at < segment->count && segment_record(segment, at)->id == id)
        return segment_record(segment, at);
    return at ? segment_record(segment, at - 1) : NULL;
}

/* Whether id is between the first and the last record of the segment in memory, so that no other has a nearer one. */
static BOOL covers(const struct segment *segment, UINT64 id)
{
    return segment->count && segment_record(segment, 0)->id <= id && id < segment_next(segment);
}

/* The identifier with which a file begins; 0: it is none of ours. same: whether it is the one in memory, as it is there. */
static UINT64 file_first(const struct reader *reader, DWORD number, BOOL *same)
{
    HANDLE file = open_file(reader->log, number, GENERIC_READ, OPEN_EXISTING);
    struct file_head head = {0};
    LARGE_INTEGER size;
    BOOL ok;

    *same = FALSE;
    if (file == INVALID_HANDLE_VALUE)
        return 0;
    ok = read_at(file, 0, &head, sizeof(head)) && head.magic == FILE_MAGIC;
    *same = ok && reader->segment.number == number && reader->segment.first == head.first && GetFileSizeEx(file, &size) &&
            size.QuadPart == reader->segment.size;
    CloseHandle(file);
    return ok ? head.first : 0;
}

const struct record *reader_find(struct reader *reader, UINT64 id, BOOL backward)
{
    DWORD numbers[MOST_LISTED];
    const struct record *found = NULL;
    int count, at;
    BOOL same = FALSE;

    if (covers(&reader->segment, id))
        return find_in(&reader->segment, id, backward);
    count = (int)list_files(reader->log, numbers);
    for (at = count - 1; at > 0; at--)
    {
        UINT64 first = file_first(reader, numbers[at], &same);

        if (first && first <= id)
            break;
    }
    for (; at >= 0 && at < count && !found; at += backward ? -1 : 1)
    {
        file_first(reader, numbers[at], &same);
        if (!same)
        {
            segment_end(&reader->segment);
            if (!segment_read(&reader->segment, reader->log, numbers[at]))
                continue;
        }
        found = find_in(&reader->segment, id, backward);
    }
    return found;
}

DWORD log_extent(const WCHAR *log, struct log_range *range)
{
    DWORD numbers[MOST_LISTED];
    unsigned count = list_files(log, numbers);
    UINT64 next = 1;

    memset(range, 0, sizeof(*range));
    for (unsigned i = 0; i < count; i++)
    {
        struct segment segment = {0};
        BY_HANDLE_FILE_INFORMATION info;
        HANDLE file = open_file(log, numbers[i], GENERIC_READ, OPEN_EXISTING);

        if (file != INVALID_HANDLE_VALUE && GetFileInformationByHandle(file, &info))
        {
            range->bytes += info.nFileSizeLow;
            if (!range->made)
                range->made = (UINT64)info.ftCreationTime.dwHighDateTime << 32 | info.ftCreationTime.dwLowDateTime;
        }
        if (file != INVALID_HANDLE_VALUE)
            CloseHandle(file);
        if (!segment_read(&segment, log, numbers[i]))
            continue;
        if (!range->oldest && segment.count)
            range->oldest = segment_record(&segment, 0)->id;
        next = max(next, segment_next(&segment));
        segment_end(&segment);
    }
    if (!range->oldest)
        range->oldest = next;
    range->newest = next - 1;
    return ERROR_SUCCESS;
}
