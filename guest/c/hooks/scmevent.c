/*
 * The events by which the service control manager tells of services.
 *
 * Windows: of a service whose process has ended the System log has event 7031, or 7034 if nothing is done about it; of
 * one that stops with an exit code 7023, or 7024 if the code is the service's own.
 */
#include "scmevent.h"

#include "heap.h"
#include "svckey.h"

#define EVENT_WITH_ACTION 0xc0001b77u /* 7031 */
#define EVENT_WITHOUT 0xc0001b7au     /* 7034 */
#define EVENT_ERROR 0xc0001b6fu       /* 7023 */
#define EVENT_OWN_ERROR 0xc0001b70u   /* 7024 */

static struct
{
    HANDLE(WINAPI *RegisterEventSourceW)(const WCHAR *, const WCHAR *);
    BOOL(WINAPI *ReportEventW)(HANDLE, WORD, WORD, DWORD, void *, WORD, DWORD, const WCHAR **, void *);
    BOOL(WINAPI *DeregisterEventSource)(HANDLE);
} api;

void scm_write_number(WCHAR *text, DWORD number)
{
    WCHAR digits[12];
    unsigned n = 0, i = 0;

    do
        digits[n++] = (WCHAR)('0' + number % 10);
    while (number /= 10);
    while (n)
        text[i++] = digits[--n];
    text[i] = 0;
}

/* Writes an event to the System log. */
static void write_event(DWORD event, WORD count, const WCHAR **strings)
{
    HANDLE log;

    svc_event_source();
    log = api.RegisterEventSourceW ? api.RegisterEventSourceW(NULL, L"Service Control Manager") : NULL;
    if (!log)
        return;
    api.ReportEventW(log, EVENTLOG_ERROR_TYPE, 0, event, NULL, count, 0, strings, NULL);
    api.DeregisterEventSource(log);
}

void scm_report_error(const WCHAR *name, HKEY key, const SERVICE_STATUS_PROCESS *is)
{
    BOOL own = is->dwWin32ExitCode == ERROR_SERVICE_SPECIFIC_ERROR;
    WCHAR *display = svc_value(key, L"DisplayName", REG_SZ, NULL), code[16] = L"%%";
    const WCHAR *strings[] = {display ? display : name, code};

    scm_write_number(code + 2, own ? is->dwServiceSpecificExitCode : is->dwWin32ExitCode);
    write_event(own ? EVENT_OWN_ERROR : EVENT_ERROR, 2, strings);
    if (display)
        heap_free(display);
}

void scm_report_failure(const WCHAR *name, HKEY key, struct failure_action action, DWORD count)
{
    static const WCHAR *const words[] = {L"No action", L"Restart the service", L"Reboot the machine",
                                         L"Run the configured recovery program"};
    WCHAR *display = svc_value(key, L"DisplayName", REG_SZ, NULL), times[12], delay[12], type[12];
    const WCHAR *strings[] = {display ? display : name, times, delay, type,
                              words[action.type <= FAILURE_RUN ? action.type : 0]};

    scm_write_number(times, count);
    scm_write_number(delay, action.delay);
    scm_write_number(type, action.type);
    if (action.type == FAILURE_NONE)
        write_event(EVENT_WITHOUT, 2, strings);
    else
        write_event(EVENT_WITH_ACTION, 5, strings);
    if (display)
        heap_free(display);
}

void scm_event_start(HMODULE advapi32)
{
#define FIND(name) api.name = (void *)GetProcAddress(advapi32, #name)
    FIND(RegisterEventSourceW);
    FIND(ReportEventW);
    FIND(DeregisterEventSource);
#undef FIND
}
