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
};

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

/* Loads the driver as the service of http.sys, which it stands for. */
static ULONG load(void)
{
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE), service;
    ULONG error = ERROR_SUCCESS;

    if (!manager)
        return GetLastError();
    service = OpenServiceW(manager, L"HTTP", SERVICE_START | SERVICE_CHANGE_CONFIG);
    if (!service)
        service = CreateServiceW(manager, L"HTTP", L"HTTP Service", SERVICE_START, SERVICE_KERNEL_DRIVER,
                                 SERVICE_DEMAND_START, SERVICE_ERROR_NORMAL, driver, NULL, NULL, NULL, NULL, NULL);
    else if (!ChangeServiceConfigW(service, SERVICE_KERNEL_DRIVER, SERVICE_DEMAND_START, SERVICE_NO_CHANGE, driver,
                                   NULL, NULL, NULL, NULL, NULL, NULL))
        error = GetLastError();
    if (!service)
        error = GetLastError();
    for (int i = 0; service && !error && i < ATTEMPTS; i++)
    {
        if (StartServiceW(service, 0, NULL) || GetLastError() == ERROR_SERVICE_ALREADY_RUNNING)
            break;
        if (GetLastError() != ERROR_SERVICE_DATABASE_LOCKED || i + 1 == ATTEMPTS) /* while the other services start */
            error = GetLastError();
        else
            Sleep(PAUSE_MS);
    }
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
