/*
 * What dependencies of services are for: a service is started after those that it needs, and is not stopped before
 * those that need it.
 *
 * Facts (Wine 8.0): nobody follows dependencies; EnumDependentServices is empty. Here the process that starts or stops
 * a service does so. The services that start with services.exe are not ordered, and load order groups are not followed.
 */
#include "svcconfig.h"

#include <string.h>

#include "heap.h"
#include "patch.h"
#include "svckey.h"
#include "svcopened.h"

enum
{
    DEPTH_MAX = 16, /* of services that need each other */
    START_MS = 30000,
    STOP_MS = 5000, /* until services.exe has seen that a process has ended */
    LOOK_MS = 20
};

static struct
{
    BOOL(WINAPI *StartServiceW)(SC_HANDLE, DWORD, const WCHAR **);
    BOOL(WINAPI *ControlService)(SC_HANDLE, DWORD, SERVICE_STATUS *);
} api;

static BOOL needs_service(const WCHAR *name, const WCHAR *needed)
{
    HKEY key = svc_key(name, KEY_READ);
    WCHAR *list = svc_value(key, L"DependOnService", REG_MULTI_SZ, NULL);
    BOOL found = FALSE;

    for (const WCHAR *p = list; p && *p && !found; p += lstrlenW(p) + 1)
        found = !lstrcmpiW(p, needed);
    if (list)
        heap_free(list);
    svc_key_close(key);
    return found;
}

/* Appends the indices of the services that need a service, those that need others of them first. */
static DWORD dependents(const ENUM_SERVICE_STATUS_PROCESSW *list, DWORD count, const WCHAR *name, DWORD *found,
                        DWORD done, unsigned depth)
{
    for (DWORD i = 0; i < count && depth < DEPTH_MAX; i++)
    {
        DWORD known = 0;

        while (known < done && found[known] != i)
            known++;
        if (known < done || !needs_service(list[i].lpServiceName, name))
            continue;
        done = dependents(list, count, list[i].lpServiceName, found, done, depth + 1);
        for (known = 0; known < done && found[known] != i; known++)
        {
        }
        if (known == done)
            found[done++] = i;
    }
    return done;
}

/* The services of some states, from the heap; NULL: none, or an error. */
static ENUM_SERVICE_STATUS_PROCESSW *list_services(DWORD states, DWORD *count)
{
    SC_HANDLE manager = svc_api.OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE);
    ENUM_SERVICE_STATUS_PROCESSW *list = NULL;
    DWORD size = 0;

    *count = 0;
    if (!manager)
        return NULL;
    svc_api.EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32, states, NULL, 0, &size, count, NULL,
                                  NULL);
    *count = 0;
    if (size && (list = heap_alloc(size)) &&
        !svc_api.EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32, states, (BYTE *)list, size, &size,
                                       count, NULL, NULL))
        *count = 0;
    svc_api.CloseServiceHandle(manager);
    return list;
}

static void copy_service(ENUM_SERVICE_STATUSW *to, const ENUM_SERVICE_STATUS_PROCESSW *from, BYTE **texts)
{
    memcpy(&to->ServiceStatus, &from->ServiceStatusProcess, sizeof(to->ServiceStatus));
    *texts += svc_put_text(&to->lpServiceName, *texts, from->lpServiceName, (DWORD)lstrlenW(from->lpServiceName) + 1);
    *texts += svc_put_text(&to->lpDisplayName, *texts, from->lpDisplayName, (DWORD)lstrlenW(from->lpDisplayName) + 1);
}

static BOOL WINAPI hook_EnumDependentServicesW(SC_HANDLE handle, DWORD states, ENUM_SERVICE_STATUSW *to, DWORD size,
                                               DWORD *needed, DWORD *returned)
{
    WCHAR name[SERVICE_NAME_SIZE];
    ENUM_SERVICE_STATUS_PROCESSW *list;
    DWORD count, *found, n, wanted;
    BYTE *texts;

    *needed = *returned = 0;
    if (!svc_name(handle, name))
        return svc_refuse(ERROR_INVALID_HANDLE);
    list = list_services(states, &count);
    found = list ? heap_alloc((count + 1) * sizeof(*found)) : NULL;
    n = found ? dependents(list, count, name, found, 0, 0) : 0;
    wanted = n * (DWORD)sizeof(*to);
    for (DWORD i = 0; i < n; i++)
        wanted += ((DWORD)lstrlenW(list[found[i]].lpServiceName) + (DWORD)lstrlenW(list[found[i]].lpDisplayName) + 2) *
                  (DWORD)sizeof(WCHAR);
    if (wanted <= size)
    {
        texts = (BYTE *)(to + n);
        for (DWORD i = 0; i < n; i++)
            copy_service(&to[i], &list[found[i]], &texts);
        *returned = n;
    }
    else
        *needed = wanted;
    if (found)
        heap_free(found);
    if (list)
        heap_free(list);
    return *needed ? svc_refuse(ERROR_MORE_DATA) : TRUE;
}

/*
 * Services of every Windows. Programs name them so that they start late enough; a container has their work done by Wine
 * and Linux, so they count as running, also where Wine has a service of that name, which is off in containers.
 */
static BOOL is_of_windows(const WCHAR *name)
{
    static const WCHAR *const names[] = {L"Afd",
                                         L"AppID",
                                         L"BFE",
                                         L"BITS",
                                         L"Browser",
                                         L"CertPropSvc",
                                         L"CryptSvc",
                                         L"DcomLaunch",
                                         L"Dhcp",
                                         L"Dnscache",
                                         L"DPS",
                                         L"EventLog",
                                         L"EventSystem",
                                         L"gpsvc",
                                         L"hns",
                                         L"HTTP",
                                         L"iphlpsvc",
                                         L"KeyIso",
                                         L"LanmanServer",
                                         L"lmhosts",
                                         L"MpsSvc",
                                         L"mrxsmb",
                                         L"MSDTC",
                                         L"NetBT",
                                         L"Netlogon",
                                         L"Netman",
                                         L"netprofm",
                                         L"NlaSvc",
                                         L"nsi",
                                         L"nsiproxy",
                                         L"PlugPlay",
                                         L"Power",
                                         L"ProfSvc",
                                         L"RpcEptMapper",
                                         L"RpcSs",
                                         L"SamSs",
                                         L"Schedule",
                                         L"SENS",
                                         L"srv2",
                                         L"SystemEventsBroker",
                                         L"Tcpip",
                                         L"Tcpip6",
                                         L"tdx",
                                         L"TermService",
                                         L"TrustedInstaller",
                                         L"UserManager",
                                         L"VaultSvc",
                                         L"vmcompute",
                                         L"W32Time",
                                         L"WinHttpAutoProxySvc",
                                         L"Winmgmt",
                                         L"WinRM",
                                         L"LanmanWorkstation"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!lstrcmpiW(name, names[i]))
            return TRUE;
    return FALSE;
}

static DWORD start_needed(const WCHAR *name, unsigned depth);

/* Starts one service that another needs, and waits until it runs. Returns a system error. */
static DWORD start_one(const WCHAR *name, unsigned depth)
{
    SC_HANDLE manager = svc_api.OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT), handle;
    SERVICE_STATUS is = {.dwCurrentState = SERVICE_STOPPED};
    ULONGLONG begin = GetTickCount64();
    DWORD error = 0;

    handle = manager ? svc_api.OpenServiceW(manager, name, SERVICE_START | SERVICE_QUERY_STATUS) : NULL;
    if (!handle)
        error = GetLastError() == ERROR_SERVICE_DOES_NOT_EXIST ? ERROR_SERVICE_DEPENDENCY_DELETED
                                                               : ERROR_SERVICE_DEPENDENCY_FAIL;
    else if (!svc_api.QueryServiceStatus(handle, &is) || is.dwCurrentState == SERVICE_STOPPED)
    {
        error = start_needed(name, depth + 1);
        if (!error && !api.StartServiceW(handle, 0, NULL) && GetLastError() != ERROR_SERVICE_ALREADY_RUNNING)
            error = ERROR_SERVICE_DEPENDENCY_FAIL;
    }
    while (!error && svc_api.QueryServiceStatus(handle, &is) && is.dwCurrentState == SERVICE_START_PENDING &&
           GetTickCount64() - begin < START_MS)
        Sleep(LOOK_MS);
    if (!error && is.dwCurrentState != SERVICE_RUNNING && is.dwCurrentState != SERVICE_PAUSED)
        error = ERROR_SERVICE_DEPENDENCY_FAIL;
    if (handle)
        svc_api.CloseServiceHandle(handle);
    if (manager)
        svc_api.CloseServiceHandle(manager);
    return error;
}

/* Starts what a service needs. Groups are not followed. */
static DWORD start_needed(const WCHAR *name, unsigned depth)
{
    HKEY key = svc_key(name, KEY_READ);
    WCHAR *list = svc_value(key, L"DependOnService", REG_MULTI_SZ, NULL);
    DWORD error = depth < DEPTH_MAX ? 0 : ERROR_CIRCULAR_DEPENDENCY;

    svc_key_close(key);
    for (const WCHAR *p = list; p && *p && !error; p += lstrlenW(p) + 1)
        error = is_of_windows(p) ? 0 : start_one(p, depth);
    if (list)
        heap_free(list);
    return error;
}

static BOOL WINAPI hook_StartServiceW(SC_HANDLE handle, DWORD argc, const WCHAR **argv)
{
    WCHAR name[SERVICE_NAME_SIZE];
    DWORD error = svc_name(handle, name) ? start_needed(name, 0) : 0;

    return error ? svc_refuse(error) : api.StartServiceW(handle, argc, argv);
}

/*
 * Whether a service has stopped instead of answering that it will: its process ended before services.exe had read the
 * answer, for which Wine's ControlService says ERROR_BROKEN_PIPE. On Windows that is a success.
 */
static BOOL stopped_meanwhile(SC_HANDLE handle, SERVICE_STATUS *status)
{
    SERVICE_STATUS is = {.dwCurrentState = SERVICE_RUNNING};
    WCHAR name[SERVICE_NAME_SIZE];
    ULONGLONG begin = GetTickCount64();
    DWORD error = GetLastError();
    SC_HANDLE manager, asked; /* the handle may be for stopping alone */

    if (error != ERROR_BROKEN_PIPE || !svc_name(handle, name) ||
        !(manager = svc_api.OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT)))
        return svc_refuse(error);
    if ((asked = svc_api.OpenServiceW(manager, name, SERVICE_QUERY_STATUS)))
    {
        while (svc_api.QueryServiceStatus(asked, &is) && is.dwCurrentState != SERVICE_STOPPED &&
               GetTickCount64() - begin < STOP_MS)
            Sleep(LOOK_MS);
        svc_api.CloseServiceHandle(asked);
    }
    svc_api.CloseServiceHandle(manager);
    SetLastError(error);
    if (is.dwCurrentState != SERVICE_STOPPED)
        return FALSE;
    if (status)
        *status = is;
    SetLastError(0);
    return TRUE;
}

static BOOL WINAPI hook_ControlService(SC_HANDLE handle, DWORD control, SERVICE_STATUS *status)
{
    DWORD needed, returned, error = GetLastError();
    WCHAR name[SERVICE_NAME_SIZE];
    HANDLE asked;
    BOOL done;

    if (control == SERVICE_CONTROL_STOP &&
        !hook_EnumDependentServicesW(handle, SERVICE_ACTIVE, NULL, 0, &needed, &returned) &&
        GetLastError() == ERROR_MORE_DATA)
    {
        if (status)
            svc_api.QueryServiceStatus(handle, status);
        return svc_refuse(ERROR_DEPENDENT_SERVICES_RUNNING);
    }
    asked = control == SERVICE_CONTROL_STOP && svc_name(handle, name) ? svc_stop_ask(name) : NULL;
    SetLastError(error); /* nssm prints it also after success */
    done = api.ControlService(handle, control, status) ||
           (control == SERVICE_CONTROL_STOP && stopped_meanwhile(handle, status));
    error = GetLastError();
    if (asked)
        CloseHandle(asked);
    SetLastError(error);
    return done;
}

void svcneeds_start(HMODULE sechost)
{
    if (patch_function(sechost, "StartServiceW", hook_StartServiceW, (void **)&api.StartServiceW) &&
        patch_function(sechost, "ControlService", hook_ControlService, (void **)&api.ControlService))
        patch_replace(sechost, "EnumDependentServicesW", hook_EnumDependentServicesW);
}
