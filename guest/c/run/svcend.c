/*
 * Ending the services of a container or a host. Wine's services.exe passes no shutdown on, so the process of each
 * service does it itself (guest/c/hooks/svcstop.c): it has an event with its process id in its name, by which it is
 * known here, and which it sets when its services have stopped or have had their time.
 */
#include "run.h"
#include <tlhelp32.h>

static HANDLE over_event(DWORD pid)
{
    WCHAR digits[24];

    return OpenEventW(SYNCHRONIZE, FALSE,
                      run_str_concat(L"Global\\MullionService", run_str_from_number(pid, digits), L""));
}

BOOL run_is_service(DWORD pid)
{
    HANDLE event = over_event(pid);

    if (event)
        CloseHandle(event);
    return event != NULL;
}

/* run_tell_services tells all services that the container or the host ends. They go on by themselves. */
void run_tell_services(void)
{
    HANDLE event = OpenEventW(EVENT_MODIFY_STATE, FALSE, L"Global\\MullionServicesShutdown");

    if (!event)
        return; /* there is no service */
    SetEvent(event);
    CloseHandle(event);
}

/*
 * run_end_services tells all services that the end comes, and waits until they have ended or had their time, at most
 * for limit milliseconds: a process that is suspended or hangs does not tell when its services have had their time.
 */
int run_end_services(DWORD limit)
{
    PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0), wait[2];
    ULONGLONG begin = GetTickCount64(), passed;

    if (snapshot == INVALID_HANDLE_VALUE)
        return 1;
    run_tell_services();
    for (BOOL more = Process32FirstW(snapshot, &entry); more; more = Process32NextW(snapshot, &entry))
    {
        if (!(wait[0] = over_event(entry.th32ProcessID)))
            continue;
        if ((wait[1] = OpenProcess(SYNCHRONIZE, FALSE, entry.th32ProcessID)))
        {
            passed = GetTickCount64() - begin;
            WaitForMultipleObjects(2, wait, FALSE, passed < limit ? (DWORD)(limit - passed) : 0);
            CloseHandle(wait[1]);
        }
        CloseHandle(wait[0]);
    }
    CloseHandle(snapshot);
    return 0;
}
