/*
 * bcryptprimitives.dll for Wine before 8.13, which lacks it.
 *
 * It exports ProcessPrng, which the Go runtime (runtime/os_windows.go, since Go 1.22) and recent Rust programs load
 * before main. Because all of these programs load it first, it also loads the hooks: mullionhook.dll (guest/c/hooks),
 * which lies beside it in system32. It does nothing else.
 */
#include "../hooks/linux.h"

enum
{
    PART = 256 /* bytes that getrandom(2) gives whole, whatever signals come */
};

/*
 * Fills data with random bytes of Linux; documented never to fail. RtlGenRandom of advapi32.dll would do it too (Wine
 * 8.0, dlls/advapi32/crypt.c, reads /dev/urandom), but each Go program would load that library for it, and with it
 * msvcrt.dll, sechost.dll and ucrtbase.dll.
 */
BOOL WINAPI ProcessPrng(BYTE *data, SIZE_T size)
{
    while (size > 0)
    {
        SIZE_T part = size > PART ? PART : size;
        int got = lx_getrandom(data, part);

        if (got == -LX_EINTR)
            continue; /* the machine has just booted, and waits for its first random bytes */
        if (got <= 0)
            ExitProcess(1); /* otherwise the caller would go on with predictable bytes */
        data += got;
        size -= (SIZE_T)got;
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
