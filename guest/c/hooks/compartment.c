/*
 * Network compartments of threads, as GetProcAddress finds the functions.
 *
 * Facts: Wine 8.0's iphlpapi.dll has none of them; dockerd.exe ends at its start without SetCurrentThreadCompartmentId
 * (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/zsyscall_windows.go). A process is in one network namespace
 * of Linux: that is compartment 1, the host's own, which a thread may choose, also as 0, that of its process
 * (https://learn.microsoft.com/windows/win32/api/netioapi/nf-netioapi-setcurrentthreadcompartmentid). No thread gets
 * into another one.
 */
#include "compartment.h"

#define OWN_COMPARTMENT 1u

static DWORD WINAPI set_thread_compartment(DWORD compartment)
{
    return compartment <= OWN_COMPARTMENT ? NO_ERROR : ERROR_NOT_SUPPORTED;
}

static DWORD WINAPI get_thread_compartment(void)
{
    return OWN_COMPARTMENT;
}

void *compartment_address(HMODULE module, const char *name, unsigned length)
{
    static const char set[] = "SetCurrentThreadCompartmentId", get[] = "GetCurrentThreadCompartmentId";

    if (length != sizeof(set) - 1 || module != GetModuleHandleW(L"iphlpapi.dll"))
        return NULL;
    if (!memcmp(name, set, length))
        return (void *)set_thread_compartment;
    return memcmp(name, get, length) ? NULL : (void *)get_thread_compartment;
}
