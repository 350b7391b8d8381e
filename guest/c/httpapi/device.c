/* The driver: loading and asking it. */
#include "httpapi.h"

#include <winternl.h>
#include <ntstatus.h>

#ifndef FILE_OPEN
#define FILE_OPEN 1
#endif

enum
{
    ATTEMPTS = 500, /* to open the device of a driver that is just loaded */
    PAUSE_MS = 20,
    QUERY_BYTES = 8192, /* the most that the settings of a service take */
};

#define SERVICE L"HTTP"

static const WCHAR driver[] = L"C:\\windows\\system32\\mullionhttp.exe";
static DWORD slot; /* of each thread's event */

NTSTATUS WINAPI NtDeviceIoControlFile(HANDLE, HANDLE, PIO_APC_ROUTINE, PVOID, PIO_STATUS_BLOCK, ULONG, PVOID, ULONG,
                                      PVOID, ULONG);

void *httpapi_take(size_t size)
{
    return HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, size);
}

void httpapi_put_back(void *p)
{
    if (p)
        HeapFree(GetProcessHeap(), 0, p);
}

/* Whether a service is the driver's. */
static BOOL is_drivers(SC_HANDLE service)
{
    BYTE buffer[QUERY_BYTES];
    QUERY_SERVICE_CONFIGW *config = (QUERY_SERVICE_CONFIGW *)(void *)buffer;
    DWORD needed;

    return QueryServiceConfigW(service, config, sizeof(buffer), &needed) && config->lpBinaryPathName &&
           !lstrcmpiW(config->lpBinaryPathName, driver);
}

/* Makes the driver the program of the service of http.sys, which it stands for. */
static ULONG set_up(void)
{
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE), service;
    ULONG error = ERROR_SUCCESS;

    if (!manager)
        return GetLastError();
    service = OpenServiceW(manager, SERVICE, SERVICE_CHANGE_CONFIG);
    if (!service)
        service = CreateServiceW(manager, SERVICE, L"HTTP Service", SERVICE_START, SERVICE_KERNEL_DRIVER,
                                 SERVICE_DEMAND_START, SERVICE_ERROR_NORMAL, driver, NULL, NULL, NULL, NULL, NULL);
    else if (!ChangeServiceConfigW(service, SERVICE_KERNEL_DRIVER, SERVICE_DEMAND_START, SERVICE_NO_CHANGE, driver,
                                   NULL, NULL, NULL, NULL, NULL, NULL))
        error = GetLastError();
    if (service)
        CloseServiceHandle(service);
    else
        error = GetLastError();
    CloseServiceHandle(manager);
    return error;
}

static ULONG start(SC_HANDLE service)
{
    for (int i = 0; i < ATTEMPTS; i++)
    {
        if (StartServiceW(service, 0, NULL) || GetLastError() == ERROR_SERVICE_ALREADY_RUNNING)
            return ERROR_SUCCESS;
        if (GetLastError() != ERROR_SERVICE_DATABASE_LOCKED) /* while the other services start */
            break;
        Sleep(PAUSE_MS);
    }
    return GetLastError();
}

/*
 * Loads the driver. The prefixes of hosts and containers have its service, which every user may start; others have
 * Wine's there.
 */
static ULONG load(void)
{
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT), service;
    ULONG error = ERROR_SUCCESS;

    if (!manager)
        return GetLastError();
    service = OpenServiceW(manager, SERVICE, SERVICE_START | SERVICE_QUERY_CONFIG);
    if (!service || !is_drivers(service))
        error = set_up();
    if (!error && !service && !(service = OpenServiceW(manager, SERVICE, SERVICE_START)))
        error = GetLastError();
    if (!error)
        error = start(service);
    if (service)
        CloseServiceHandle(service);
    CloseServiceHandle(manager);
    return error;
}

static NTSTATUS open(HANDLE *file)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK io;

    RtlInitUnicodeString(&name, HTTP_DEVICE);
    InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE, NULL, NULL);
    return NtCreateFile(file, GENERIC_READ | GENERIC_WRITE, &attributes, &io, NULL, 0,
                        FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_OPEN, 0, NULL, 0);
}

ULONG httpapi_device_open(HANDLE *file)
{
    NTSTATUS status = open(file);
    ULONG error;

    if (status >= 0)
        return ERROR_SUCCESS;
    error = load();
    if (error)
        return error;
    for (int i = 0; i < ATTEMPTS; i++)
    {
        status = open(file);
        if (status >= 0)
            return ERROR_SUCCESS;
        Sleep(PAUSE_MS);
    }
    return RtlNtStatusToDosError(status);
}

BOOL httpapi_device_start(void)
{
    slot = TlsAlloc();
    return slot != TLS_OUT_OF_INDEXES;
}

void httpapi_device_thread_ends(void)
{
    HANDLE event = TlsGetValue(slot);

    if (event)
        CloseHandle(event);
    TlsSetValue(slot, NULL);
}

static HANDLE own_event(void)
{
    DWORD error = GetLastError();
    HANDLE event = TlsGetValue(slot);

    if (!event)
    {
        event = CreateEventW(NULL, TRUE, FALSE, NULL);
        TlsSetValue(slot, event);
    }
    SetLastError(error);
    return event;
}

ULONG httpapi_device_ask(HANDLE file, uint32_t code, const void *in, ULONG in_size, void *out, ULONG out_size,
                         ULONG *done, OVERLAPPED *overlapped)
{
    IO_STATUS_BLOCK own = {.Status = STATUS_PENDING}, *io = overlapped ? (IO_STATUS_BLOCK *)overlapped : &own;
    HANDLE event = overlapped ? overlapped->hEvent : own_event();
    void *context = overlapped && !((ULONG_PTR)event & 1) ? overlapped
                                                          : NULL; /* who gets none finds nothing at its port */
    NTSTATUS status;

    if (!overlapped && !event)
        return ERROR_NOT_ENOUGH_MEMORY;
    io->Status = STATUS_PENDING;
    status = NtDeviceIoControlFile(file, event, NULL, context, io, code, (void *)in, in_size, out, out_size);
    if (status == STATUS_PENDING && overlapped)
        return ERROR_IO_PENDING;
    if (status == STATUS_PENDING)
    {
        WaitForSingleObject(event, INFINITE);
        status = own.Status;
    }
    if (done)
        *done = (ULONG)io->Information;
    return RtlNtStatusToDosError(status);
}
