/*
 * Who may do what with services, where the program's user may not change the machine (machinekey.c).
 *
 * Windows: local users may list services and read their settings and states; administrators and SYSTEM alone make,
 * change, start, stop and delete them (learn.microsoft.com/windows/win32/services/service-security-and-access-rights:
 * the default descriptors of the manager and of services). A service that is not there is said to be so to everybody.
 *
 * Fact (Wine 8.0 to 10.0, programs/services/rpc.c): the manager grants what is asked for, and checks each call against
 * the rights of its handle. So it is the opening that is refused. As with keys this holds against programs that go by
 * Windows' calls.
 */
#include "svcaccess.h"

#include "machinekey.h"
#include "patch.h"
#include "svcopened.h"

#define SET_STATUS 0x8000 /* SERVICE_SET_STATUS of [MS-SCMR] 3.1.4: with it a service says how it is */

#define OF_MANAGER (READ_CONTROL | SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE | SC_MANAGER_QUERY_LOCK_STATUS)
#define OF_SERVICE \
    (READ_CONTROL | SERVICE_QUERY_CONFIG | SERVICE_QUERY_STATUS | SERVICE_ENUMERATE_DEPENDENTS | SERVICE_INTERROGATE | \
     SERVICE_USER_DEFINED_CONTROL | SET_STATUS)

static const GENERIC_MAPPING manager_rights = {
    STANDARD_RIGHTS_READ | SC_MANAGER_ENUMERATE_SERVICE | SC_MANAGER_QUERY_LOCK_STATUS,
    STANDARD_RIGHTS_WRITE | SC_MANAGER_CREATE_SERVICE | SC_MANAGER_MODIFY_BOOT_CONFIG,
    STANDARD_RIGHTS_EXECUTE | SC_MANAGER_CONNECT | SC_MANAGER_LOCK,
    SC_MANAGER_ALL_ACCESS,
};

static const GENERIC_MAPPING service_rights = {
    STANDARD_RIGHTS_READ | SERVICE_QUERY_CONFIG | SERVICE_QUERY_STATUS | SERVICE_INTERROGATE |
        SERVICE_ENUMERATE_DEPENDENTS,
    STANDARD_RIGHTS_WRITE | SERVICE_CHANGE_CONFIG,
    STANDARD_RIGHTS_EXECUTE | SERVICE_START | SERVICE_STOP | SERVICE_PAUSE_CONTINUE | SERVICE_USER_DEFINED_CONTROL,
    SERVICE_ALL_ACCESS,
};

static SC_HANDLE(WINAPI *original_open)(const WCHAR *, const WCHAR *, DWORD);

void NTAPI RtlMapGenericMask(ACCESS_MASK *access, const GENERIC_MAPPING *mapping);

/* Narrows what is asked for to what is allowed; FALSE: it is more. Whoever asks for all that there is gets that. */
static BOOL narrow(DWORD *access, const GENERIC_MAPPING *mapping, DWORD allowed)
{
    BOOL all = (*access & MAXIMUM_ALLOWED) != 0, may;
    ACCESS_MASK asked = *access & ~(ACCESS_MASK)MAXIMUM_ALLOWED;

    RtlMapGenericMask(&asked, mapping);
    may = !(asked & ~allowed);
    *access = all ? allowed : asked & allowed;
    return may;
}

/* Services that Windows has running, and that libraries here start when a program first needs them. */
static BOOL starts_by_itself(const WCHAR *name)
{
    static const WCHAR *const names[] = {L"HTTP", L"RpcSs"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!lstrcmpiW(name, names[i]))
            return TRUE;
    return FALSE;
}

BOOL svcaccess_may(const WCHAR *name, DWORD *access)
{
    if (!original_open || !name)
        return TRUE;
    return narrow(access, &service_rights, OF_SERVICE | (starts_by_itself(name) ? SERVICE_START : 0));
}

static SC_HANDLE WINAPI hook_OpenSCManagerW(const WCHAR *machine, const WCHAR *database, DWORD access)
{
    if (!narrow(&access, &manager_rights, OF_MANAGER))
    {
        svc_refuse(ERROR_ACCESS_DENIED);
        return NULL;
    }
    return original_open(machine, database, access);
}

void svcaccess_start(HMODULE sechost)
{
    if (!original_open && machinekey_restricts())
        patch_function(sechost, "OpenSCManagerW", hook_OpenSCManagerW, (void **)&original_open);
}
