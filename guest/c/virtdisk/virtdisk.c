/*
 * virtdisk.dll: virtual disks. The only ones are the scratches of containers (sandbox.vhdx in the folder of a layer),
 * which Mullion's server attaches as volumes; what a handle means is in internal/runtime/hcs/disk.go.
 */
#include "hns_client.h"

#include <objbase.h>
#include <stdlib.h>
#include <string.h>

/* The bytes that ask. */
#define ATTACH 'a'
#define ATTACH_FOR_GOOD 'p'
#define DETACH 'd'

/* On x64 the caller clears the stack, so one function serves whatever the arguments are. */
DWORD WINAPI virtdisk_not_implemented(void)
{
    return ERROR_CALL_NOT_IMPLEMENTED;
}

/* The functions answer with error codes of Windows. */
static DWORD code_of(HRESULT error)
{
    if (SUCCEEDED(error))
        return ERROR_SUCCESS;
    if (HRESULT_FACILITY(error) == FACILITY_WIN32)
        return HRESULT_CODE(error);
    return error == E_NOTIMPL ? ERROR_CALL_NOT_IMPLEMENTED : ERROR_GEN_FAILURE;
}

/* A path that the server understands, which knows no current folder, to be freed. */
static WCHAR *whole_path(const WCHAR *path)
{
    DWORD length = GetFullPathNameW(path, 0, NULL, NULL);
    WCHAR *whole = length ? malloc(length * sizeof(WCHAR)) : NULL;

    if (whole && !GetFullPathNameW(path, length, whole, NULL))
    {
        free(whole);
        return NULL;
    }
    return whole;
}

/*
 * The handle is the connection on which the server attaches the disk: as a socket it is closed by CloseHandle, and then
 * the disk is detached, unless it was attached for good.
 */
DWORD WINAPI OpenVirtualDisk(VIRTUAL_STORAGE_TYPE *type, const WCHAR *path, VIRTUAL_DISK_ACCESS_MASK access,
                             OPEN_VIRTUAL_DISK_FLAG flags, OPEN_VIRTUAL_DISK_PARAMETERS *parameters, HANDLE *handle)
{
    struct hns_call call = {.function = "OpenVirtualDisk", .texts = 1, .watches = TRUE};
    SOCKET s = INVALID_SOCKET;
    HRESULT error;
    WCHAR *whole;

    (void)type; /* of a disk whose name says what it is */
    (void)access;
    (void)flags;
    (void)parameters;
    if (!path || !handle)
        return ERROR_INVALID_PARAMETER;
    if (!(whole = whole_path(path)))
        return ERROR_NOT_ENOUGH_MEMORY;
    call.text[0] = whole;
    error = hns_call_on(&s, &call);
    free(whole);
    CoTaskMemFree(call.answer);
    CoTaskMemFree(call.record);
    if (SUCCEEDED(error))
        *handle = (HANDLE)s;
    else if (s != INVALID_SOCKET)
        closesocket(s);
    return code_of(error);
}

/* Has the server do something with the disk of a handle. */
static DWORD ask(HANDLE handle, char what)
{
    SOCKET s = (SOCKET)handle;
    HRESULT result = E_FAIL;
    int got = 0;

    if (send(s, &what, 1, 0) != 1)
        return ERROR_INVALID_HANDLE;
    while (got < (int)sizeof(result))
    {
        int n = recv(s, (char *)&result + got, (int)sizeof(result) - got, 0);

        if (n <= 0)
            return ERROR_CONNECTION_ABORTED;
        got += n;
    }
    return code_of(result);
}

DWORD WINAPI AttachVirtualDisk(HANDLE handle, void *security, ATTACH_VIRTUAL_DISK_FLAG flags, ULONG provider_flags,
                               ATTACH_VIRTUAL_DISK_PARAMETERS *parameters, OVERLAPPED *overlapped)
{
    (void)security; /* a host's programs all may */
    (void)provider_flags;
    (void)parameters;
    (void)overlapped; /* it has ended when the function returns, which a caller that would wait is told */
    return ask(handle, flags & ATTACH_VIRTUAL_DISK_FLAG_PERMANENT_LIFETIME ? ATTACH_FOR_GOOD : ATTACH);
}

DWORD WINAPI DetachVirtualDisk(HANDLE handle, DETACH_VIRTUAL_DISK_FLAG flags, ULONG provider_flags)
{
    (void)flags;
    (void)provider_flags;
    return ask(handle, DETACH);
}

/* A disk of this host depends on no other. */
DWORD WINAPI GetStorageDependencyInformation(HANDLE object, GET_STORAGE_DEPENDENCY_FLAG flags, ULONG size,
                                             STORAGE_DEPENDENCY_INFO *information, ULONG *used)
{
    const ULONG least = FIELD_OFFSET(STORAGE_DEPENDENCY_INFO, Version1Entries);

    (void)object;
    (void)flags;
    if (!information || !size)
        return ERROR_INVALID_PARAMETER;
    if (size < least)
        return ERROR_INSUFFICIENT_BUFFER;
    information->NumberEntries = 0;
    if (used)
        *used = least;
    return ERROR_SUCCESS;
}
