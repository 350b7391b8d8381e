/* The services that this process has open, and what the hooks of their functions share. */
#include "svcopened.h"

#include <string.h>

#include "heap.h"
#include "svckey.h"

/* An open service. */
struct opened
{
    struct opened *next;
    SC_HANDLE handle;
    WCHAR name[SERVICE_NAME_SIZE];
};

struct service_functions svc_api;

static SRWLOCK lock = SRWLOCK_INIT;
static struct opened *all;

void svc_note(SC_HANDLE handle, const WCHAR *name)
{
    DWORD error = GetLastError();
    struct opened *o;

    if (!handle || !name || lstrlenW(name) >= SERVICE_NAME_SIZE || !(o = heap_alloc(sizeof(*o))))
        return;
    o->handle = handle;
    lstrcpyW(o->name, name);
    AcquireSRWLockExclusive(&lock);
    o->next = all;
    all = o;
    ReleaseSRWLockExclusive(&lock);
    SetLastError(error);
}

BOOL svc_name(SC_HANDLE handle, WCHAR *name)
{
    struct opened *o;

    AcquireSRWLockShared(&lock);
    for (o = all; o && o->handle != handle; o = o->next)
    {
    }
    if (o)
        lstrcpyW(name, o->name);
    ReleaseSRWLockShared(&lock);
    return o != NULL;
}

void svc_forget(SC_HANDLE handle)
{
    struct opened **at, *found;

    AcquireSRWLockExclusive(&lock);
    for (at = &all; *at && (*at)->handle != handle; at = &(*at)->next)
    {
    }
    if ((found = *at))
        *at = found->next;
    ReleaseSRWLockExclusive(&lock);
    if (found)
        heap_free(found);
}

BOOL svc_refuse(DWORD error)
{
    SetLastError(error);
    return FALSE;
}

DWORD svc_put_text(WCHAR **to, BYTE *at, const WCHAR *text, DWORD length)
{
    if (to)
        *to = text ? memcpy(at, text, length * sizeof(WCHAR)) : NULL;
    return text ? length * (DWORD)sizeof(WCHAR) : 0;
}

BOOL svc_find_functions(HMODULE sechost)
{
#define FIND(name) ((svc_api.name = (void *)GetProcAddress(sechost, #name)) != NULL)
    return FIND(OpenSCManagerW) && FIND(OpenServiceW) && FIND(CloseServiceHandle) && FIND(QueryServiceStatus) &&
           FIND(EnumServicesStatusExW);
#undef FIND
}
