/*
 * bcryptprimitives.dll for Wine before 8.13, which lacks it.
 *
 * It exports ProcessPrng, which the Go runtime (runtime/os_windows.go, since Go 1.22) and recent Rust programs ask for before
 * main. Being the one library that all of them load first, it is also where the hooks come in: it loads mullionhook.dll, which
 * lies beside it in system32 (shim/hooks). Nothing else is here.
 */
#include <windows.h>
#include <ntsecapi.h>

/*
 * Fills data with random bytes; documented never to fail. SystemFunction036 (RtlGenRandom) reads the machine's own generator:
 * Wine 8.0 dlls/advapi32/crypt.c reads /dev/urandom.
 */
BOOL WINAPI ProcessPrng(BYTE *data, SIZE_T size)
{
    while (size > 0)
    {
        ULONG part = size > 0x10000000 ? 0x10000000 : (ULONG)size;

        if (!RtlGenRandom(data, part))
            ExitProcess(1); /* a caller would go on with predictable bytes */
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
