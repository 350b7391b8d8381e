/*
 * bcryptprimitives.dll for Wine before 8.13, which lacks it.
 *
 * It exports ProcessPrng, which the Go runtime (runtime/os_windows.go, since Go 1.22) and recent Rust programs load
 * before main. Because all of these programs load it first, it also loads the hooks: mullionhook.dll (guest/c/hooks),
 * which lies beside it in system32. It does nothing else.
 */
#include <windows.h>
#include <ntsecapi.h>

/*
 * Fills data with random bytes; documented never to fail. SystemFunction036 (RtlGenRandom) reads the machine's own
 * generator: Wine 8.0 dlls/advapi32/crypt.c reads /dev/urandom.
 */
BOOL WINAPI ProcessPrng(BYTE *data, SIZE_T size)
{
    while (size > 0)
    {
        ULONG part = size > 0x10000000 ? 0x10000000 : (ULONG)size;

        if (!RtlGenRandom(data, part))
            ExitProcess(1); /* otherwise the caller would go on with predictable bytes */
        data += part;
        size -= part;
    }
    return TRUE;
}

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, void *reserved)
{
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH)
    {
        DisableThreadLibraryCalls(instance);
        LoadLibraryW(L"mullionhook.dll");
    }
    return TRUE;
}
