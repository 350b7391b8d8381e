/*
 * The logs of a prefix, in C:\Windows\System32\winevt\Logs.
 *
 * Who writes or clears a log holds the lock of the file <log>.lock, which the system takes from a process that ends.
 * Readers take no lock: they believe a record whose checksum fits. A writer cuts off what another left half written,
 * appends, and begins another file when one has an eighth of the log's size; the oldest file of more than eight goes
 * with its events. Every user may put files into the folder, so links there are never followed.
 */
#include "store.h"

#include <stdlib.h>
#include <wchar.h>

#include "channels.h"
#include "files.h"

enum
{
    DEFAULT_BYTES = 20 << 20,
    LEAST_FILE_BYTES = MOST_RECORD + (8 << 10),
    LOCK_WAIT = 10000 /* ms */
};

static void make_folder(void)
{
    WCHAR path[MAX_PATH + 32];
    UINT length = GetSystemDirectoryW(path, MAX_PATH);

    wcscpy(path + length, L"\\winevt");
    CreateDirectoryW(path, NULL);
    wcscat(path, L"\\Logs");
    CreateDirectoryW(path, NULL);
}

DWORD evt_log_most_bytes(const WCHAR *log)
{
    DWORD bytes = evt_log_number(log, L"MaxSize", DEFAULT_BYTES);

    return bytes / LOG_FILES < LEAST_FILE_BYTES ? LEAST_FILE_BYTES * LOG_FILES : bytes;
}

static DWORD file_most_bytes(const WCHAR *log)
{
    return min(evt_log_most_bytes(log) / LOG_FILES, MOST_FILE_BYTES);
}

/* Takes the lock of a log; INVALID_HANDLE_VALUE: the last error says why not. */
static HANDLE lock_log(const WCHAR *log)
{
    WCHAR path[LOG_PATH_CHARS + 8];
    OVERLAPPED place = {0};
    HANDLE file;

    evt_log_path(log, path);
    wcscat(path, L".lock");
    file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                       OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE && GetLastError() == ERROR_PATH_NOT_FOUND)
    {
        make_folder();
        file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                           NULL, OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    }
    if (file == INVALID_HANDLE_VALUE)
        return file;
    for (DWORD waited = 0; !LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place);
         waited++)
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

void evt_store_start(void)
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
    unsigned count = evt_list_files(w->log, numbers);
    struct segment segment = {0};
    LARGE_INTEGER size;
    HANDLE file;

    if (count && numbers[count - 1] == w->number &&
        (file = evt_open_file(w->log, w->number, GENERIC_READ, OPEN_EXISTING)) != INVALID_HANDLE_VALUE)
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
        if (!evt_segment_read(&segment, w->log, numbers[i]))
            continue;
        w->id = max(w->id, evt_segment_next(&segment));
        if (i == count - 1)
            w->tail = evt_segment_tail(&segment);
        evt_segment_end(&segment);
        break;
    }
}

/* Writes to the end of the newest file; what a failure leaves there does not count as a record. */
static DWORD write_tail(struct writing *w, const void *bytes, DWORD size)
{
    HANDLE file = evt_open_file(w->log, w->number, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS);
    OVERLAPPED to = {0};
    LARGE_INTEGER end;
    DWORD done, error = ERROR_SUCCESS;

    if (file == INVALID_HANDLE_VALUE)
        return GetLastError();
    end.QuadPart = to.Offset = w->tail;
    if (!SetFilePointerEx(file, end, NULL, FILE_BEGIN) || !SetEndOfFile(file) ||
        !WriteFile(file, bytes, size, &done, &to))
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
    count = evt_list_files(w->log, numbers);
    for (unsigned i = 0; i + kept < count; i++)
    {
        if (!evt_delete_file(w->log, numbers[i]))
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
    evt_record_write(record, size, w->id, parts);
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

DWORD evt_log_append(const WCHAR *log, const struct event_parts *parts)
{
    DWORD size = evt_record_size(parts), error;
    struct record *record;

    if (!size)
        return RPC_S_INVALID_BOUND; /* as Windows answers */
    if (!(record = malloc(size)))
        return ERROR_NOT_ENOUGH_MEMORY;
    error = change(log, record, size, parts);
    free(record);
    return error;
}

DWORD evt_log_clear(const WCHAR *log)
{
    return change(log, NULL, 0, NULL);
}
