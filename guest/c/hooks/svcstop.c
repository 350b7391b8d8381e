/*
 * The end of a container, told to its services: SERVICE_CONTROL_PRESHUTDOWN and SERVICE_CONTROL_SHUTDOWN.
 *
 * Facts (Wine 8.0): services.exe passes neither on (svcctl_ControlService), sechost.dll sends both only when the last
 * program of the prefix has ended, and then leaves a service 3 s and 2 s. So the process of a service does it itself:
 * its handlers are noted when they are registered, its states when it reports them, and a thread waits for the event
 * that mullion-run.exe sets when the container is to end (guest/c/run/svcend.c).
 *
 * Such a process is also made one of those that do not keep a prefix alive; it is not any more: the container's first
 * process ends the services.
 *
 * Windows: services that accept PRESHUTDOWN get it first and have PreshutdownTimeout (3 minutes) to stop, the others
 * get SHUTDOWN if they accept it, and have WaitToKillServiceTimeout.
 * learn.microsoft.com/windows/win32/services/service-control-handler-function
 */
#include "svcstop.h"

#include "nt.h"
#include "patch.h"
#include "program.h"
#include "svckey.h"

enum
{
    SERVICES_MAX = 16,
    LOOK_MS = 20,
    PRESHUTDOWN_MS = 180000
};

#define ACCEPT_PRESHUTDOWN 0x100
#define CONTROL_PRESHUTDOWN 0xf
#define CLASS_MAKE_SYSTEM 1000 /* ProcessWineMakeProcessSystem of Wine's winternl.h */

/* A service of this process. */
struct running
{
    SERVICE_STATUS_HANDLE handle;
    LPHANDLER_FUNCTION_EX handler;
    void *context;
    volatile DWORD state, accepts;
    WCHAR name[SERVICE_NAME_SIZE];
};

static SERVICE_STATUS_HANDLE(WINAPI *original_register)(const WCHAR *, LPHANDLER_FUNCTION_EX, void *);
static BOOL(WINAPI *original_set_status)(SERVICE_STATUS_HANDLE, SERVICE_STATUS *);
static NTSTATUS(WINAPI *original_set_process)(HANDLE, ULONG, void *, ULONG);
static SRWLOCK lock = SRWLOCK_INIT;
static struct running services[SERVICES_MAX];
static unsigned count;
static HANDLE over; /* set when the services of this process have ended, or had their time */

HANDLE svc_shutdown_event(void)
{
    return CreateEventW(NULL, TRUE, FALSE, L"Global\\MullionServicesShutdown");
}

/* The event by which mullion-run.exe knows a service's process, and waits for its services. */
static HANDLE over_event(void)
{
    WCHAR name[64] = L"Global\\MullionService", digits[12];
    DWORD pid = GetCurrentProcessId();
    unsigned n = 0, end = (unsigned)lstrlenW(name);

    do
        digits[n++] = (WCHAR)('0' + pid % 10);
    while (pid /= 10);
    while (n)
        name[end++] = digits[--n];
    name[end] = 0;
    return CreateEventW(NULL, TRUE, FALSE, name);
}

/*
 * Sends a control code to the services that accept it, and waits until they have stopped, each as long as limit says.
 */
static void end_services(DWORD control, DWORD accept, DWORD (*limit)(const struct running *))
{
    BOOL told[SERVICES_MAX] = {FALSE}, waits = TRUE;
    ULONGLONG begin = GetTickCount64();

    for (unsigned i = 0; i < count; i++)
        if (services[i].state != SERVICE_STOPPED && (services[i].accepts & accept))
        {
            told[i] = TRUE;
            services[i].handler(control, 0, NULL, services[i].context);
        }
    while (waits)
    {
        waits = FALSE;
        for (unsigned i = 0; i < count; i++)
            if (told[i] && services[i].state != SERVICE_STOPPED && GetTickCount64() - begin < limit(&services[i]))
                waits = TRUE;
        if (waits)
            Sleep(LOOK_MS);
    }
}

static DWORD preshutdown_limit(const struct running *service)
{
    HKEY key = svc_key(service->name, KEY_READ);
    DWORD ms = svc_number(key, L"PreshutdownTimeout", PRESHUTDOWN_MS);

    svc_key_close(key);
    return ms;
}

static DWORD shutdown_limit(const struct running *service)
{
    (void)service;
    return svc_kill_timeout();
}

static DWORD WINAPI wait_for_end(void *event)
{
    WaitForSingleObject(event, INFINITE);
    end_services(CONTROL_PRESHUTDOWN, ACCEPT_PRESHUTDOWN, preshutdown_limit);
    end_services(SERVICE_CONTROL_SHUTDOWN, SERVICE_ACCEPT_SHUTDOWN, shutdown_limit);
    SetEvent(over);
    return 0;
}

static SERVICE_STATUS_HANDLE WINAPI hook_register(const WCHAR *name, LPHANDLER_FUNCTION_EX handler, void *context)
{
    SERVICE_STATUS_HANDLE handle = original_register(name, handler, context);
    DWORD error = GetLastError();
    HANDLE thread, event;
    unsigned i;

    if (!handle || !name)
        return handle;
    AcquireSRWLockExclusive(&lock);
    for (i = 0; i < count && services[i].handle != handle; i++)
    {
    }
    if (i < SERVICES_MAX)
    {
        services[i].handler = handler;
        services[i].context = context;
        services[i].handle = handle;
        lstrcpynW(services[i].name, name, SERVICE_NAME_SIZE);
        if (i == count)
        {
            services[i].state = SERVICE_START_PENDING;
            count++;
        }
    }
    if (!over && (event = svc_shutdown_event()) && (over = over_event()) &&
        (thread = CreateThread(NULL, 0, wait_for_end, event, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL)))
        CloseHandle(thread);
    ReleaseSRWLockExclusive(&lock);
    SetLastError(error);
    return handle;
}

static BOOL WINAPI hook_set_status(SERVICE_STATUS_HANDLE handle, SERVICE_STATUS *status)
{
    BOOL set = original_set_status(handle, status);

    for (unsigned i = 0; set && i < count; i++)
        if (services[i].handle == handle)
        {
            services[i].accepts = status->dwControlsAccepted;
            services[i].state = status->dwCurrentState;
        }
    return set;
}

/* explorer.exe, which keeps a desktop, stays one that no prefix waits for. */
static NTSTATUS WINAPI hook_set_process(HANDLE process, ULONG class, void *data, ULONG size)
{
    if (class == CLASS_MAKE_SYSTEM && size == sizeof(HANDLE *) && !program_is(L"explorer.exe") &&
        (*(HANDLE *)data = CreateEventW(NULL, TRUE, FALSE, NULL)))
        return STATUS_SUCCESS;
    return original_set_process(process, class, data, size);
}

void svcstop_start(HMODULE sechost)
{
    if (original_register)
        return;
    patch_function(GetModuleHandleW(L"ntdll.dll"), "NtSetInformationProcess", hook_set_process,
                   (void **)&original_set_process);
    if (patch_function(sechost, "SetServiceStatus", hook_set_status, (void **)&original_set_status))
        patch_function(sechost, "RegisterServiceCtrlHandlerExW", hook_register, (void **)&original_register);
}
