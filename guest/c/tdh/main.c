/*
 * tdh.dll: Event Tracing for Windows, and the description of events.
 *
 * The functions of providers, sessions and consumers belong to ntdll.dll, sechost.dll and advapi32.dll, where Wine has
 * functions that do nothing; mullionhook.dll leads them here, and loads this library when one of them is first called.
 */
#include <windows.h>

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, void *reserved)
{
    HMODULE self;

    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH)
    {
        DisableThreadLibraryCalls(instance);
        /* never unloaded: a thread runs in it */
        GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                           (const WCHAR *)(void *)DllMain, &self);
    }
    return TRUE;
}
