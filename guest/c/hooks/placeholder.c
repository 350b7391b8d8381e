/*
 * Placeholders, reserved addresses that are later replaced piece by piece: MapViewOfFile3 as GetProcAddress finds it.
 *
 * Facts (Wine 8.0): VirtualAlloc2 refuses MEM_RESERVE_PLACEHOLDER, MapViewOfFile3 refuses offsets that are not
 * multiples of 64 KiB. V8 (v12 and later, src/base/platform/platform-win32.cc) and .NET
 * (src/coreclr/vm/peimagelayout.cpp) look for VirtualAlloc2 and MapViewOfFile3, end the process if placeholders then
 * fail, and have another way if one of the two is not found, as in Windows before 1803. So it is not found where
 * placeholders do not work. VirtualAlloc2 stays: Wine has the rest of what it does. Who imports MapViewOfFile3 gets
 * Wine's.
 */
#include "winsock.h"

#include "compartment.h"
#include "flush.h"
#include "hooks.h"
#include "numa.h"

#define PAGE_BYTES 4096
#define RESERVE_PLACEHOLDER 0x40000u /* winnt.h MEM_RESERVE_PLACEHOLDER */
#define REPLACE_PLACEHOLDER 0x4000u
#define PRESERVE_PLACEHOLDER 2u
#define COALESCE_PLACEHOLDERS 1u

typedef NTSTATUS(WINAPI *get_procedure_address)(HMODULE, const ANSI_STRING *, ULONG, void **);
typedef void *(WINAPI *virtual_alloc)(HANDLE, void *, SIZE_T, ULONG, ULONG, void *, ULONG);
typedef void *(WINAPI *map_view)(HANDLE, HANDLE, void *, ULONG64, SIZE_T, ULONG, ULONG, void *, ULONG);
typedef BOOL(WINAPI *unmap_view)(HANDLE, void *, ULONG);

enum
{
    UNKNOWN = 0,
    WORKING = 1,
    BROKEN = 2
};

static get_procedure_address original_address;
static map_view map;
static LONG found;

/* One page of memory and one of a section in place of two reserved pages, and back again. */
static BOOL replaces(BYTE *at, HANDLE section, virtual_alloc allocate, unmap_view unmap)
{
    HANDLE process = GetCurrentProcess();
    BYTE *second = at + PAGE_BYTES;

    if (!VirtualFree(at, PAGE_BYTES, MEM_RELEASE | PRESERVE_PLACEHOLDER) ||
        allocate(process, at, PAGE_BYTES, MEM_RESERVE | MEM_COMMIT | REPLACE_PLACEHOLDER, PAGE_READWRITE, NULL, 0) !=
            at)
        return FALSE;
    if (map(section, process, second, PAGE_BYTES, PAGE_BYTES, REPLACE_PLACEHOLDER, PAGE_READWRITE, NULL, 0) != second)
        return FALSE;
    return unmap(process, second, PRESERVE_PLACEHOLDER) &&
           VirtualFree(at, PAGE_BYTES, MEM_RELEASE | PRESERVE_PLACEHOLDER) &&
           VirtualFree(at, 2 * PAGE_BYTES, MEM_RELEASE | COALESCE_PLACEHOLDERS);
}

static LONG try_placeholders(void)
{
    HMODULE kernelbase = GetModuleHandleW(L"kernelbase.dll");
    virtual_alloc allocate = (void *)GetProcAddress(kernelbase, "VirtualAlloc2");
    unmap_view unmap = (void *)GetProcAddress(kernelbase, "UnmapViewOfFile2");
    HANDLE section;
    LONG result = BROKEN;
    BYTE *at;

    if (!allocate || !unmap ||
        !(at = allocate(GetCurrentProcess(), NULL, 2 * PAGE_BYTES, MEM_RESERVE | RESERVE_PLACEHOLDER, PAGE_NOACCESS,
                        NULL, 0)))
        return BROKEN;
    if ((section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 2 * PAGE_BYTES, NULL)))
    {
        if (replaces(at, section, allocate, unmap))
            result = WORKING;
        CloseHandle(section);
    }
    VirtualFree(at, 0, MEM_RELEASE); /* of what failed half-way a page may stay */
    return result;
}

static BOOL work(void)
{
    DWORD error = GetLastError();

    if (found == UNKNOWN)
        InterlockedExchange(&found, try_placeholders());
    SetLastError(error);
    return found == WORKING;
}

static NTSTATUS WINAPI hook_LdrGetProcedureAddress(HMODULE module, const ANSI_STRING *name, ULONG ordinal,
                                                   void **address)
{
    NTSTATUS status = original_address(module, name, ordinal, address);

    if (status && name &&
        ((*address = bcrypt_derivation_address(module, name->Buffer, name->Length)) ||
         (*address = numa_address(module, name->Buffer, name->Length)) ||
         (*address = compartment_address(module, name->Buffer, name->Length)) ||
         (*address = flush_address(module, name->Buffer, name->Length))))
        return STATUS_SUCCESS;
    if (status || *address != (void *)map || work())
        return status;
    *address = NULL;
    return STATUS_ENTRYPOINT_NOT_FOUND;
}

void placeholder_start(void)
{
    if ((map = (void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "MapViewOfFile3")))
        patch_function(GetModuleHandleW(L"ntdll.dll"), "LdrGetProcedureAddress", hook_LdrGetProcedureAddress,
                       (void **)&original_address);
}
