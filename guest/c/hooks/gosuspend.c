/*
 * Go's runtime asks powrprof.dll to be told when the machine wakes, as one of the first things that it does
 * (runtime/os_windows.go, monitorSuspendResume). Wine's function never tells (Wine 8.0,
 * dlls/powrprof/main.c: a stub). The library brings advapi32.dll, msvcrt.dll and sechost.dll with it, which few small
 * programs need. So it is not found, as on Windows 7, where the runtime does without. Who asks later, the program
 * itself, gets it.
 */
#include "hooks.h"

#include "path.h"
#include "program.h"

typedef HMODULE(WINAPI *load_library)(const WCHAR *, HANDLE, DWORD);

static load_library original_load_library;
static LONG asked;

static HMODULE WINAPI hook_LoadLibraryExW(const WCHAR *name, HANDLE file, DWORD flags)
{
    static const WCHAR library[] = L"powrprof.dll";

    if (flags == LOAD_LIBRARY_SEARCH_SYSTEM32 && name && lstrlenW(name) == sizeof(library) / sizeof(WCHAR) - 1 &&
        path_same_name(name, library, sizeof(library) / sizeof(WCHAR) - 1) && !InterlockedExchange(&asked, 1))
    {
        SetLastError(ERROR_MOD_NOT_FOUND);
        return NULL;
    }
    return original_load_library(name, file, flags);
}

void gosuspend_start(void)
{
    if (program_is_go())
        patch_function(GetModuleHandleW(L"kernelbase.dll"), "LoadLibraryExW", hook_LoadLibraryExW,
                       (void **)&original_load_library);
}
