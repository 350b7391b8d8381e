/*
 * NtFlushBuffersFileEx of Windows 8 and later, as GetProcAddress finds it.
 *
 * Facts: Wine 8.0's ntdll.dll has not got it; PostgreSQL from 16 on ends at its start without it
 * (src/port/win32ntdll.c). Its flags ask for less than NtFlushBuffersFile does
 * (https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntflushbuffersfileex): no metadata, or no
 * wait for the disk. A flush that does all keeps every promise.
 */
#include "flush.h"
#include "hooks.h"

#define FLUSH_FLAGS (1 | 2 | 4 | 8) /* FILE_DATA_ONLY, NO_SYNC, FILE_DATA_SYNC_ONLY, FLUSH_AND_PURGE */

typedef NTSTATUS(WINAPI *nt_flush)(HANDLE handle, IO_STATUS_BLOCK *io);

static NTSTATUS WINAPI flush_buffers_file_ex(HANDLE handle, ULONG flags, void *parameters, ULONG size,
                                             IO_STATUS_BLOCK *io)
{
    nt_flush flush = (void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "NtFlushBuffersFile");

    if ((flags & ~(ULONG)FLUSH_FLAGS) || parameters || size)
        return STATUS_INVALID_PARAMETER;
    return flush(handle, io);
}

void *flush_address(HMODULE module, const char *name, unsigned length)
{
    static const char wanted[] = "NtFlushBuffersFileEx";

    if (length != sizeof(wanted) - 1 || memcmp(name, wanted, length) || module != GetModuleHandleW(L"ntdll.dll"))
        return NULL;
    return (void *)flush_buffers_file_ex;
}
