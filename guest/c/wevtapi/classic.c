/*
 * The event log's older functions, which advapi32.dll has: writing events, and reading logs as EVENTLOGRECORDs.
 *
 * Wine's are empty. The hooks (guest/c/hooks/eventlog.c) lead a program that calls one of them to the function of its
 * name here. Facts: https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-reporteventw, …-readeventlogw,
 * …-openeventlogw, …-registereventsourcew.
 */
#include <windows.h>

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "channels.h"
#include "classic.h"
#include "objects.h"
#include "store.h"

struct source
{
    struct object object;
    WCHAR log[LOG_CHARS], name[MOST_NAME + 1];
};

struct open_log
{
    struct object object;
    WCHAR log[LOG_CHARS];
    struct reader reader;
    UINT64 last; /* the identifier that was read last; 0: none yet */
};

static BOOL fail(DWORD error)
{
    SetLastError(error);
    return FALSE;
}

WCHAR *evt_wide_of(const char *text)
{
    int length = MultiByteToWideChar(CP_ACP, 0, text, -1, NULL, 0);
    WCHAR *made = length > 0 ? malloc(length * sizeof(WCHAR)) : NULL;

    if (made)
        MultiByteToWideChar(CP_ACP, 0, text, -1, made, length);
    return made;
}

HANDLE WINAPI MullionRegisterEventSourceW(const WCHAR *server, const WCHAR *name)
{
    struct source *source;

    if (!name || !*name)
        return fail(ERROR_INVALID_PARAMETER), NULL;
    if (!evt_this_computer(server))
        return fail(RPC_S_SERVER_UNAVAILABLE), NULL;
    if (wcslen(name) > MOST_NAME)
        return fail(ERROR_INVALID_PARAMETER), NULL;
    if (!(source = evt_object_new(CLASSIC_SOURCE, sizeof(*source), NULL)))
        return NULL;
    evt_source_log(name, source->log);
    wcscpy(source->name, name);
    if (!_wcsicmp(source->log, L"Security")) /* for the local security authority only */
    {
        evt_object_release(source);
        return fail(ERROR_ACCESS_DENIED), NULL;
    }
    return evt_object_open(source);
}

HANDLE WINAPI MullionRegisterEventSourceA(const char *server, const char *name)
{
    WCHAR *wide_server = server ? evt_wide_of(server) : NULL, *wide_name = name ? evt_wide_of(name) : NULL;
    HANDLE handle = MullionRegisterEventSourceW(wide_server, wide_name);

    free(wide_server);
    free(wide_name);
    return handle;
}

BOOL WINAPI MullionDeregisterEventSource(HANDLE handle)
{
    return evt_object_close(handle, CLASSIC_SOURCE);
}

/* What a structure or a pointer of the caller has is read here, under the caller's own risk, as on Windows. */
BOOL WINAPI MullionReportEventW(HANDLE handle, WORD type, WORD category, DWORD event, PSID sid, WORD strings,
                                DWORD data_size, const WCHAR **string, void *data)
{
    struct source *source = evt_object_get(handle, CLASSIC_SOURCE);
    WCHAR computer[MOST_NAME + 1] = L"";
    DWORD length = MOST_NAME + 1, error;
    struct event_parts parts = {
        type,   category, strings, event, GetCurrentProcessId(), GetCurrentThreadId(), data_size, 0, NULL, computer,
        string, sid,      data,    0};
    FILETIME now;

    if (!source)
        return FALSE;
    if ((strings && !string) || (data_size && !data) || (sid && !IsValidSid(sid)))
    {
        evt_object_release(source);
        return fail(ERROR_INVALID_PARAMETER);
    }
    GetComputerNameExW(ComputerNamePhysicalDnsHostname, computer, &length);
    GetSystemTimePreciseAsFileTime(&now);
    parts.time = (UINT64)now.dwHighDateTime << 32 | now.dwLowDateTime;
    parts.source = source->name;
    parts.sid_size = sid ? (WORD)GetLengthSid(sid) : 0;
    error = evt_log_append(source->log, &parts);
    evt_object_release(source);
    return error ? fail(error) : TRUE;
}

BOOL WINAPI MullionReportEventA(HANDLE handle, WORD type, WORD category, DWORD event, PSID sid, WORD strings,
                                DWORD data_size, const char **string, void *data)
{
    WCHAR *wide[MOST_STRINGS] = {NULL};
    BOOL ok;

    if (strings && !string)
        return fail(ERROR_INVALID_PARAMETER);
    for (unsigned i = 0; i < min(strings, MOST_STRINGS); i++)
        wide[i] = string[i] ? evt_wide_of(string[i]) : NULL;
    ok = MullionReportEventW(handle, type, category, event, sid, strings, data_size, (const WCHAR **)wide, data);
    for (unsigned i = 0; i < MOST_STRINGS; i++)
        free(wide[i]);
    return ok;
}

static void end_log(struct object *object)
{
    evt_reader_end(&((struct open_log *)object)->reader);
}

/* A log that there is not is Application, as the documentation says. */
HANDLE WINAPI MullionOpenEventLogW(const WCHAR *server, const WCHAR *name)
{
    struct open_log *log;

    if (!name || !*name)
        return fail(ERROR_INVALID_PARAMETER), NULL;
    if (!evt_this_computer(server))
        return fail(RPC_S_SERVER_UNAVAILABLE), NULL;
    if (!(log = evt_object_new(CLASSIC_LOG, sizeof(*log), end_log)))
        return NULL;
    if (!evt_log_find(name, log->log))
        wcscpy(log->log, L"Application");
    evt_reader_init(&log->reader, log->log);
    return evt_object_open(log);
}

HANDLE WINAPI MullionOpenEventLogA(const char *server, const char *name)
{
    WCHAR *wide_server = server ? evt_wide_of(server) : NULL, *wide_name = name ? evt_wide_of(name) : NULL;
    HANDLE handle = MullionOpenEventLogW(wide_server, wide_name);

    free(wide_server);
    free(wide_name);
    return handle;
}

BOOL WINAPI MullionCloseEventLog(HANDLE handle)
{
    return evt_object_close(handle, CLASSIC_LOG);
}

const WCHAR *evt_classic_log_name(const void *object)
{
    return ((const struct open_log *)object)->log;
}

static BOOL extent_of(HANDLE handle, struct log_range *range)
{
    struct open_log *log = evt_object_get(handle, CLASSIC_LOG);

    if (!log)
        return FALSE;
    evt_log_extent(log->log, range);
    evt_object_release(log);
    return TRUE;
}

BOOL WINAPI MullionGetNumberOfEventLogRecords(HANDLE handle, DWORD *number)
{
    struct log_range range;

    if (!number)
        return fail(ERROR_INVALID_PARAMETER);
    if (!extent_of(handle, &range))
        return FALSE;
    *number = (DWORD)(range.newest + 1 - range.oldest);
    return TRUE;
}

BOOL WINAPI MullionGetOldestEventLogRecord(HANDLE handle, DWORD *number)
{
    struct log_range range;

    if (!number)
        return fail(ERROR_INVALID_PARAMETER);
    if (!extent_of(handle, &range))
        return FALSE;
    *number = (DWORD)range.oldest;
    return TRUE;
}

BOOL WINAPI MullionClearEventLogW(HANDLE handle, const WCHAR *backup)
{
    struct open_log *log = evt_object_get(handle, CLASSIC_LOG);
    DWORD error;

    if (!log)
        return FALSE;
    if (backup)
        error = ERROR_NOT_SUPPORTED;
    else if (!(error = evt_log_clear(log->log)))
    {
        EnterCriticalSection(&log->object.lock);
        evt_reader_end(&log->reader);
        log->last = 0;
        LeaveCriticalSection(&log->object.lock);
    }
    evt_object_release(log);
    return error ? fail(error) : TRUE;
}

BOOL WINAPI MullionClearEventLogA(HANDLE handle, const char *backup)
{
    return MullionClearEventLogW(handle, backup ? L"" : NULL);
}

/* Seconds since 1970 of a FILETIME. */
static DWORD seconds(UINT64 time)
{
    const UINT64 until_1970 = 116444736000000000ull;

    return time < until_1970 ? 0 : (DWORD)((time - until_1970) / 10000000);
}

/* Writes a text at place if there is room, as ANSI or not, and returns the place behind it. */
static DWORD put_text(BYTE *buffer, DWORD size, DWORD place, const WCHAR *text, BOOL ansi)
{
    DWORD bytes = ansi ? (DWORD)WideCharToMultiByte(CP_ACP, 0, text, -1, NULL, 0, NULL, NULL)
                       : (DWORD)(wcslen(text) + 1) * sizeof(WCHAR);

    if (place + bytes <= size && ansi)
        WideCharToMultiByte(CP_ACP, 0, text, -1, (char *)buffer + place, (int)bytes, NULL, NULL);
    else if (place + bytes <= size)
        memcpy(buffer + place, text, bytes);
    return place + bytes;
}

static DWORD put_bytes(BYTE *buffer, DWORD size, DWORD place, const void *bytes, DWORD count)
{
    if (place + count <= size)
        memcpy(buffer + place, bytes, count);
    return place + count;
}

static DWORD put_padding(BYTE *buffer, DWORD size, DWORD place)
{
    return put_bytes(buffer, size, place, "\0\0\0", -place & 3u);
}

/*
 * Writes a record as programs read it. Returns its length, also if size is too small; the buffer's content does not
 * count then.
 */
static DWORD put_record(BYTE *buffer, DWORD size, const struct record *record, BOOL ansi)
{
    EVENTLOGRECORD head = {0};
    DWORD place = sizeof(head);

    place = put_text(buffer, size, place, evt_record_text(record, 0), ansi);
    place = put_text(buffer, size, place, evt_record_text(record, 1), ansi);
    place = put_padding(buffer, size, place);
    head.UserSidLength = record->sid_size;
    head.UserSidOffset = place;
    place = put_bytes(buffer, size, place, evt_record_sid(record), record->sid_size);
    head.StringOffset = place;
    for (unsigned i = 0; i < record->strings; i++)
        place = put_text(buffer, size, place, evt_record_text(record, 2 + i), ansi);
    head.DataLength = record->data_size;
    head.DataOffset = place;
    place = put_bytes(buffer, size, place, evt_record_data(record), record->data_size);
    place = put_padding(buffer, size, place);
    head.Length = place + sizeof(DWORD);
    if (head.Length > size)
        return head.Length;
    head.Reserved = 0x654c664c; /* ELF_LOG_SIGNATURE, "LfLe" */
    head.RecordNumber = (DWORD)record->id;
    head.TimeGenerated = head.TimeWritten = seconds(record->time);
    head.EventID = record->event;
    head.EventType = record->type;
    head.NumStrings = record->strings;
    head.EventCategory = record->category;
    memcpy(buffer, &head, sizeof(head));
    memcpy(buffer + place, &head.Length, sizeof(DWORD));
    return head.Length;
}

/* The identifier from which on the next record is looked for. */
static UINT64 next_wanted(const struct open_log *log, BOOL backward)
{
    if (!log->last)
        return backward ? ~(UINT64)0 : 1;
    return backward ? log->last - 1 : log->last + 1;
}

static DWORD read_records(struct open_log *log, DWORD flags, DWORD offset, BYTE *buffer, DWORD size, DWORD *read,
                          DWORD *needed, BOOL ansi)
{
    BOOL backward = (flags & EVENTLOG_BACKWARDS_READ) != 0;
    UINT64 wanted = flags & EVENTLOG_SEEK_READ ? offset : next_wanted(log, backward);
    const struct record *record;

    while ((record = wanted ? evt_reader_find(&log->reader, wanted, backward) : NULL))
    {
        DWORD length;

        if (flags & EVENTLOG_SEEK_READ && !*read && record->id != offset)
            return ERROR_INVALID_PARAMETER;
        length = put_record(buffer + *read, size - *read, record, ansi);
        if (length > size - *read)
        {
            if (*read)
                return ERROR_SUCCESS;
            *needed = length;
            return ERROR_INSUFFICIENT_BUFFER;
        }
        *read += length;
        log->last = record->id;
        wanted = next_wanted(log, backward);
    }
    if (*read)
        return ERROR_SUCCESS;
    return flags & EVENTLOG_SEEK_READ ? ERROR_INVALID_PARAMETER : ERROR_HANDLE_EOF;
}

static BOOL read_log(HANDLE handle, DWORD flags, DWORD offset, void *buffer, DWORD size, DWORD *read, DWORD *needed,
                     BOOL ansi)
{
    const DWORD how = EVENTLOG_SEQUENTIAL_READ | EVENTLOG_SEEK_READ,
                way = EVENTLOG_FORWARDS_READ | EVENTLOG_BACKWARDS_READ;
    struct open_log *log = evt_object_get(handle, CLASSIC_LOG);
    DWORD error;

    if (!log)
        return FALSE;
    if (!buffer || !read || !needed || !(flags & how) || (flags & how) == how || !(flags & way) ||
        (flags & way) == way || flags & ~(how | way))
    {
        evt_object_release(log);
        return fail(ERROR_INVALID_PARAMETER);
    }
    *read = *needed = 0;
    EnterCriticalSection(&log->object.lock);
    error = read_records(log, flags, offset, buffer, size, read, needed, ansi);
    LeaveCriticalSection(&log->object.lock);
    evt_object_release(log);
    return error ? fail(error) : TRUE;
}

BOOL WINAPI MullionReadEventLogW(HANDLE handle, DWORD flags, DWORD offset, void *buffer, DWORD size, DWORD *read,
                                 DWORD *needed)
{
    return read_log(handle, flags, offset, buffer, size, read, needed, FALSE);
}

BOOL WINAPI MullionReadEventLogA(HANDLE handle, DWORD flags, DWORD offset, void *buffer, DWORD size, DWORD *read,
                                 DWORD *needed)
{
    return read_log(handle, flags, offset, buffer, size, read, needed, TRUE);
}

/* A full log: old events make way, so it never is. */
BOOL WINAPI MullionGetEventLogInformation(HANDLE handle, DWORD level, void *buffer, DWORD size, DWORD *needed)
{
    struct open_log *log = evt_object_get(handle, CLASSIC_LOG);

    if (!log)
        return FALSE;
    evt_object_release(log);
    if (level) /* EVENTLOG_FULL_INFO */
        return fail(ERROR_INVALID_LEVEL);
    if (!needed || !buffer)
        return fail(ERROR_INVALID_PARAMETER);
    *needed = sizeof(DWORD);
    if (size < sizeof(DWORD))
        return fail(ERROR_INSUFFICIENT_BUFFER);
    memset(buffer, 0, sizeof(DWORD));
    return TRUE;
}
