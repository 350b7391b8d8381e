/*
 * Event Tracing for Windows: providers, sessions and consumers.
 *
 * Facts (Wine 8.0 to 10.0, dlls/ntdll/misc.c, dlls/sechost/trace.c, dlls/advapi32/eventlog.c): the functions do
 * nothing. EventRegister answers 0xdeadbeef and StartTrace 0xcafe4242, and no event is ever wanted by anybody. So the
 * number in their code tells an empty function from one that works, which is left alone. What is missing is in our
 * tdh.dll (guest/c/tdh), which is loaded when one of these functions is first called. Without it they answer as Wine's
 * do, or are refused.
 *
 * EventRegister and its like of advapi32.dll are those of ntdll.dll; StartTrace and its like call those of sechost.dll.
 */
#include "winsock.h"

#include <string.h>

#include <evntrace.h>
#include <evntprov.h>
#include <evntcons.h>

#include "hooks.h"

#define CODE_BYTES 128 /* in which the number is */

static HMODULE library;

/* Our function of a name, or NULL. */
static void *ours(const char *name)
{
    HMODULE found = __atomic_load_n(&library, __ATOMIC_ACQUIRE);
    DWORD error = GetLastError();
    void *function;

    if (!found && (found = LoadLibraryW(L"tdh.dll")))
        __atomic_store_n(&library, found, __ATOMIC_RELEASE);
    function = found ? (void *)GetProcAddress(found, name) : NULL;
    SetLastError(error);
    return function;
}

/* A hook that hands its arguments on. */
#define HAND_ON(result, name, types, values, otherwise) \
    static result WINAPI hook_##name types \
    { \
        result(WINAPI *function) types = ours("Mullion" #name); \
\
        return function ? function values : (otherwise); \
    }

HAND_ON(ULONG, EventRegister, (const GUID *id, void *callback, void *context, REGHANDLE *handle),
        (id, callback, context, handle), (*handle = 0, ERROR_SUCCESS)) /* Node.js 18 ends if its provider is refused */
HAND_ON(ULONG, EventUnregister, (REGHANDLE handle), (handle), ERROR_SUCCESS)
HAND_ON(ULONG, EventSetInformation, (REGHANDLE handle, ULONG class, void *information, ULONG size),
        (handle, class, information, size), ERROR_SUCCESS)
HAND_ON(BOOLEAN, EventEnabled, (REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor), (handle, descriptor), FALSE)
HAND_ON(BOOLEAN, EventProviderEnabled, (REGHANDLE handle, UCHAR level, ULONGLONG keyword), (handle, level, keyword),
        FALSE)
HAND_ON(ULONG, EventWrite,
        (REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor, ULONG count, EVENT_DATA_DESCRIPTOR *data),
        (handle, descriptor, count, data), ERROR_SUCCESS)
HAND_ON(ULONG, EventWriteTransfer,
        (REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor, const GUID *activity, const GUID *related, ULONG count,
         EVENT_DATA_DESCRIPTOR *data),
        (handle, descriptor, activity, related, count, data), ERROR_SUCCESS)
HAND_ON(ULONG, EventWriteString, (REGHANDLE handle, UCHAR level, ULONGLONG keyword, const WCHAR *text),
        (handle, level, keyword, text), ERROR_SUCCESS)
HAND_ON(ULONG, EventActivityIdControl, (ULONG code, GUID *id), (code, id), ERROR_CALL_NOT_IMPLEMENTED)

HAND_ON(ULONG, StartTraceW, (TRACEHANDLE * handle, const WCHAR *name, EVENT_TRACE_PROPERTIES *properties),
        (handle, name, properties), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, StartTraceA, (TRACEHANDLE * handle, const char *name, EVENT_TRACE_PROPERTIES *properties),
        (handle, name, properties), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, ControlTraceW, (TRACEHANDLE handle, const WCHAR *name, EVENT_TRACE_PROPERTIES *properties, ULONG code),
        (handle, name, properties, code), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, ControlTraceA, (TRACEHANDLE handle, const char *name, EVENT_TRACE_PROPERTIES *properties, ULONG code),
        (handle, name, properties, code), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, QueryAllTracesW, (EVENT_TRACE_PROPERTIES * *properties, ULONG count, ULONG *sessions),
        (properties, count, sessions), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, QueryAllTracesA, (EVENT_TRACE_PROPERTIES * *properties, ULONG count, ULONG *sessions),
        (properties, count, sessions), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, EnableTraceEx2,
        (TRACEHANDLE handle, const GUID *provider, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all, ULONG timeout,
         ENABLE_TRACE_PARAMETERS *parameters),
        (handle, provider, code, level, any, all, timeout, parameters), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, EnableTraceEx,
        (const GUID *provider, const GUID *source, TRACEHANDLE handle, ULONG enable, UCHAR level, ULONGLONG any,
         ULONGLONG all, ULONG property, void *filter),
        (provider, source, handle, enable, level, any, all, property, filter), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, EnableTrace, (ULONG enable, ULONG flags, ULONG level, const GUID *provider, TRACEHANDLE handle),
        (enable, flags, level, provider, handle), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(TRACEHANDLE, OpenTraceW, (EVENT_TRACE_LOGFILEW * logfile), (logfile), INVALID_PROCESSTRACE_HANDLE)
HAND_ON(TRACEHANDLE, OpenTraceA, (EVENT_TRACE_LOGFILEA * logfile), (logfile), INVALID_PROCESSTRACE_HANDLE)
HAND_ON(ULONG, ProcessTrace, (TRACEHANDLE * handles, ULONG count, FILETIME *from, FILETIME *to),
        (handles, count, from, to), ERROR_CALL_NOT_IMPLEMENTED)
HAND_ON(ULONG, CloseTrace, (TRACEHANDLE handle), (handle), ERROR_CALL_NOT_IMPLEMENTED)

/* The functions that are ControlTrace with one code. */
#define CONTROL(name, text, end, code) \
    static ULONG WINAPI hook_##name##end(TRACEHANDLE handle, const text *session, EVENT_TRACE_PROPERTIES *properties) \
    { \
        return hook_ControlTrace##end(handle, session, properties, code); \
    }

CONTROL(StopTrace, WCHAR, W, EVENT_TRACE_CONTROL_STOP)
CONTROL(StopTrace, char, A, EVENT_TRACE_CONTROL_STOP)
CONTROL(QueryTrace, WCHAR, W, EVENT_TRACE_CONTROL_QUERY)
CONTROL(QueryTrace, char, A, EVENT_TRACE_CONTROL_QUERY)
CONTROL(UpdateTrace, WCHAR, W, EVENT_TRACE_CONTROL_UPDATE)
CONTROL(UpdateTrace, char, A, EVENT_TRACE_CONTROL_UPDATE)
CONTROL(FlushTrace, WCHAR, W, EVENT_TRACE_CONTROL_FLUSH)
CONTROL(FlushTrace, char, A, EVENT_TRACE_CONTROL_FLUSH)

static BOOL has_number(HMODULE module, const char *name, DWORD number)
{
    const BYTE *code = (const BYTE *)GetProcAddress(module, name);

    for (unsigned i = 0; code && i < CODE_BYTES; i++)
    {
        if (!memcmp(code + i, &number, sizeof(number)))
            return TRUE;
    }
    return FALSE;
}

#define REPLACE(module, name) patch_replace(module, #name, hook_##name)

void etw_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    if (!has_number(ntdll, "EtwEventRegister", 0xdeadbeef))
        return;
#define REPLACE_ETW(name) patch_replace(ntdll, "Etw" #name, hook_##name)
    REPLACE_ETW(EventRegister);
    REPLACE_ETW(EventUnregister);
    REPLACE_ETW(EventSetInformation);
    REPLACE_ETW(EventEnabled);
    REPLACE_ETW(EventProviderEnabled);
    REPLACE_ETW(EventWrite);
    REPLACE_ETW(EventWriteTransfer);
    REPLACE_ETW(EventWriteString);
    REPLACE_ETW(EventActivityIdControl);
#undef REPLACE_ETW
}

void etw_sessions_start(HMODULE sechost)
{
    static LONG started;

    if (started || !has_number(sechost, "StartTraceW", 0xcafe4242))
        return;
    started = 1;
    REPLACE(sechost, StartTraceW);
    REPLACE(sechost, StartTraceA);
    REPLACE(sechost, ControlTraceW);
    REPLACE(sechost, ControlTraceA);
    REPLACE(sechost, StopTraceW);
    REPLACE(sechost, QueryAllTracesW);
    REPLACE(sechost, QueryAllTracesA);
    REPLACE(sechost, EnableTraceEx2);
    REPLACE(sechost, OpenTraceW);
    REPLACE(sechost, ProcessTrace);
    REPLACE(sechost, CloseTrace);
}

void etw_older_start(HMODULE advapi32)
{
    static LONG started;

    if (started || !has_number(GetModuleHandleW(L"sechost.dll"), "StartTraceW", 0xcafe4242))
        return;
    started = 1;
    REPLACE(advapi32, StopTraceA);
    REPLACE(advapi32, QueryTraceW);
    REPLACE(advapi32, QueryTraceA);
    REPLACE(advapi32, UpdateTraceW);
    REPLACE(advapi32, UpdateTraceA);
    REPLACE(advapi32, FlushTraceW);
    REPLACE(advapi32, FlushTraceA);
    REPLACE(advapi32, EnableTrace);
    REPLACE(advapi32, EnableTraceEx);
    REPLACE(advapi32, OpenTraceA);
}
