/*
 * bindfltapi.dll: folders that are seen at another place. There are none here: nothing makes one, and so there is none
 * to take back, which containerd and hcsshim try whenever a container ends.
 */
#include <windows.h>

/* On x64 the caller clears the stack, so one function serves whatever the arguments are. */
HRESULT WINAPI bind_not_implemented(void)
{
    return E_NOTIMPL;
}

HRESULT WINAPI BfRemoveMapping(HANDLE job, const WCHAR *root)
{
    (void)job;
    return root ? HRESULT_FROM_WIN32(ERROR_NOT_FOUND) : E_POINTER;
}
