/*
 * The event log's functions of advapi32.dll: writing events, and reading logs.
 *
 * Facts (Wine 8.0 to 10.0, dlls/advapi32/eventlog.c): they do nothing; RegisterEventSource answers 0xcafe4242, and from
 * then on all succeeds and is lost. So the number in its code tells an empty function from one that works, which is
 * left alone. What is missing is in our wevtapi.dll (guest/c/wevtapi/classic.c), which is loaded when one of these
 * functions is first called. Without it they are refused with ERROR_CALL_NOT_IMPLEMENTED.
 */
#include "winsock.h"

#include <string.h>

#include "patch.h"

#define CODE_BYTES 96 /* in which the number is */

static HMODULE library;

/* Our function of a name, or NULL with the last error. */
static void *ours(const char *name)
{
    HMODULE found = __atomic_load_n(&library, __ATOMIC_ACQUIRE);
    DWORD error = GetLastError();
    void *function;

    if (!found && (found = LoadLibraryW(L"wevtapi.dll")))
        __atomic_store_n(&library, found, __ATOMIC_RELEASE);
    function = found ? (void *)GetProcAddress(found, name) : NULL;
    SetLastError(function ? error : ERROR_CALL_NOT_IMPLEMENTED);
    return function;
}

/* A hook that hands its arguments on. */
#define HAND_ON(result, name, types, values) \
    static result WINAPI hook_##name types \
    { \
        result(WINAPI *function) types = ours("Mullion" #name); \
\
        return function ? function values : 0; \
    }

HAND_ON(HANDLE, RegisterEventSourceW, (const WCHAR *server, const WCHAR *source), (server, source))
HAND_ON(HANDLE, RegisterEventSourceA, (const char *server, const char *source), (server, source))
HAND_ON(BOOL, DeregisterEventSource, (HANDLE log), (log))
HAND_ON(BOOL, ReportEventW,
        (HANDLE log, WORD type, WORD category, DWORD event, void *sid, WORD strings, DWORD data_size,
         const WCHAR **string, void *data),
        (log, type, category, event, sid, strings, data_size, string, data))
HAND_ON(BOOL, ReportEventA,
        (HANDLE log, WORD type, WORD category, DWORD event, void *sid, WORD strings, DWORD data_size,
         const char **string, void *data),
        (log, type, category, event, sid, strings, data_size, string, data))
HAND_ON(HANDLE, OpenEventLogW, (const WCHAR *server, const WCHAR *log), (server, log))
HAND_ON(HANDLE, OpenEventLogA, (const char *server, const char *log), (server, log))
HAND_ON(BOOL, CloseEventLog, (HANDLE log), (log))
HAND_ON(BOOL, ReadEventLogW,
        (HANDLE log, DWORD flags, DWORD offset, void *buffer, DWORD size, DWORD *read, DWORD *needed),
        (log, flags, offset, buffer, size, read, needed))
HAND_ON(BOOL, ReadEventLogA,
        (HANDLE log, DWORD flags, DWORD offset, void *buffer, DWORD size, DWORD *read, DWORD *needed),
        (log, flags, offset, buffer, size, read, needed))
HAND_ON(BOOL, GetNumberOfEventLogRecords, (HANDLE log, DWORD *number), (log, number))
HAND_ON(BOOL, GetOldestEventLogRecord, (HANDLE log, DWORD *number), (log, number))
HAND_ON(BOOL, ClearEventLogW, (HANDLE log, const WCHAR *backup), (log, backup))
HAND_ON(BOOL, ClearEventLogA, (HANDLE log, const char *backup), (log, backup))
HAND_ON(BOOL, GetEventLogInformation, (HANDLE log, DWORD level, void *buffer, DWORD size, DWORD *needed),
        (log, level, buffer, size, needed))
HAND_ON(BOOL, NotifyChangeEventLog, (HANDLE log, HANDLE event), (log, event))

/* Saved logs. All of these have a handle and a pointer, or two pointers, and answer with a number or a handle. */
static void *WINAPI refuse(const void *first, const void *second)
{
    (void)first;
    (void)second;
    SetLastError(ERROR_CALL_NOT_IMPLEMENTED);
    return NULL;
}

static BOOL is_empty(HMODULE advapi32)
{
    static const BYTE number[] = {0x42, 0x42, 0xfe, 0xca};
    const BYTE *code = (const BYTE *)GetProcAddress(advapi32, "RegisterEventSourceW");

    for (unsigned i = 0; code && i < CODE_BYTES; i++)
    {
        if (!memcmp(code + i, number, sizeof(number)))
            return TRUE;
    }
    return FALSE;
}

void eventlog_start(HMODULE advapi32)
{
    static LONG started;

    if (started || !is_empty(advapi32))
        return;
    started = 1;
#define REPLACE(name) patch_replace(advapi32, #name, hook_##name)
    REPLACE(RegisterEventSourceW);
    REPLACE(RegisterEventSourceA);
    REPLACE(DeregisterEventSource);
    REPLACE(ReportEventW);
    REPLACE(ReportEventA);
    REPLACE(OpenEventLogW);
    REPLACE(OpenEventLogA);
    REPLACE(CloseEventLog);
    REPLACE(ReadEventLogW);
    REPLACE(ReadEventLogA);
    REPLACE(GetNumberOfEventLogRecords);
    REPLACE(GetOldestEventLogRecord);
    REPLACE(ClearEventLogW);
    REPLACE(ClearEventLogA);
    REPLACE(GetEventLogInformation);
    REPLACE(NotifyChangeEventLog);
#undef REPLACE
    patch_replace(advapi32, "BackupEventLogW", refuse);
    patch_replace(advapi32, "BackupEventLogA", refuse);
    patch_replace(advapi32, "OpenBackupEventLogW", refuse);
    patch_replace(advapi32, "OpenBackupEventLogA", refuse);
}
