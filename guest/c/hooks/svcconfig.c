/*
 * The settings of services that Wine's service control manager does not keep or tell: failure actions, dependencies and
 * others.
 *
 * Facts (Wine 8.0, programs/services/rpc.c, dlls/sechost/service.c): QueryServiceConfig tells no dependencies, and
 * ChangeServiceConfig without a list of them deletes them; (what they are for is in svcneeds.c). Of the levels of
 * ChangeServiceConfig2 there are the description and the preshutdown time, failure actions are accepted and lost. Its
 * other writing to the key of a service leaves values that it does not know alone. So what is missing is kept in the
 * key, where Windows has it, by the process that sets it. A handle of a service says nothing of its name, so names are
 * noted when a service is opened.
 */
#include "svcconfig.h"

#include <string.h>

#include "heap.h"
#include "patch.h"
#include "svcaccess.h"
#include "svckey.h"
#include "svcopened.h"

enum /* levels of ChangeServiceConfig2, winsvc.h */
{
    LEVEL_DESCRIPTION = 1,
    LEVEL_FAILURE = 2,
    LEVEL_DELAYED = 3,
    LEVEL_FLAG = 4,
    LEVEL_SID = 5,
    LEVEL_PRIVILEGES = 6
};

static struct
{
    SC_HANDLE(WINAPI *OpenServiceW)(SC_HANDLE, const WCHAR *, DWORD);
    SC_HANDLE(WINAPI *CreateServiceW)
    (SC_HANDLE, const WCHAR *, const WCHAR *, DWORD, DWORD, DWORD, DWORD, const WCHAR *, const WCHAR *, DWORD *,
     const WCHAR *, const WCHAR *, const WCHAR *);
    BOOL(WINAPI *CloseServiceHandle)(SC_HANDLE);
    BOOL(WINAPI *QueryServiceConfigW)(SC_HANDLE, QUERY_SERVICE_CONFIGW *, DWORD, DWORD *);
    BOOL(WINAPI *ChangeServiceConfigW)
    (SC_HANDLE, DWORD, DWORD, DWORD, const WCHAR *, const WCHAR *, DWORD *, const WCHAR *, const WCHAR *, const WCHAR *,
     const WCHAR *);
    BOOL(WINAPI *QueryServiceConfig2W)(SC_HANDLE, DWORD, BYTE *, DWORD, DWORD *);
    BOOL(WINAPI *ChangeServiceConfig2W)(SC_HANDLE, DWORD, void *);
} api;

/* The key of an open service, or NULL. */
static HKEY key_of(SC_HANDLE handle, REGSAM access)
{
    WCHAR name[SERVICE_NAME_SIZE];

    return svc_name(handle, name) ? svc_key(name, access) : NULL;
}

static SC_HANDLE WINAPI hook_OpenServiceW(SC_HANDLE manager, const WCHAR *name, DWORD access)
{
    BOOL may = svcaccess_may(name, &access);
    SC_HANDLE handle = api.OpenServiceW(manager, name, access);

    if (handle && !may)
    {
        api.CloseServiceHandle(handle);
        svc_refuse(ERROR_ACCESS_DENIED);
        return NULL;
    }
    svc_note(handle, name);
    return handle;
}

static SC_HANDLE WINAPI hook_CreateServiceW(SC_HANDLE manager, const WCHAR *name, const WCHAR *display, DWORD access,
                                            DWORD type, DWORD start, DWORD control, const WCHAR *path,
                                            const WCHAR *group, DWORD *tag, const WCHAR *needs, const WCHAR *account,
                                            const WCHAR *password)
{
    SC_HANDLE handle = api.CreateServiceW(manager, name, display, access, type, start, control, path, group, tag, needs,
                                          account, password);

    svc_note(handle, name);
    return handle;
}

static BOOL WINAPI hook_CloseServiceHandle(SC_HANDLE handle)
{
    svc_forget(handle);
    return api.CloseServiceHandle(handle);
}

/* Length of a list of strings in characters, with the zero at its end. */
static DWORD list_length(const WCHAR *list)
{
    DWORD length = 0;

    while (list[length])
        length += (DWORD)lstrlenW(list + length) + 1;
    return length + 1;
}

/* What a service needs: services, then groups with a plus; from the heap, or NULL. */
static WCHAR *needs_of(HKEY key)
{
    WCHAR *services = svc_value(key, L"DependOnService", REG_MULTI_SZ, NULL),
          *groups = svc_value(key, L"DependOnGroup", REG_MULTI_SZ, NULL), *list, *to;

    list = heap_alloc(((services ? list_length(services) : 0) + (groups ? 2 * list_length(groups) : 0) + 2) *
                      sizeof(WCHAR));
    if ((to = list))
    {
        for (const WCHAR *p = services; p && *p; p += lstrlenW(p) + 1)
        {
            lstrcpyW(to, p);
            to += lstrlenW(to) + 1;
        }
        for (const WCHAR *p = groups; p && *p; p += lstrlenW(p) + 1)
        {
            *to = '+';
            lstrcpyW(to + 1, p);
            to += lstrlenW(to) + 1;
        }
    }
    if (services)
        heap_free(services);
    if (groups)
        heap_free(groups);
    return list;
}

static BOOL WINAPI hook_QueryServiceConfigW(SC_HANDLE handle, QUERY_SERVICE_CONFIGW *config, DWORD size, DWORD *needed)
{
    DWORD own = 0, more;
    HKEY key;
    WCHAR *needs;
    BOOL done;

    if (!needed || api.QueryServiceConfigW(handle, NULL, 0, &own) || GetLastError() != ERROR_INSUFFICIENT_BUFFER ||
        !(key = key_of(handle, KEY_READ)))
        return api.QueryServiceConfigW(handle, config, size, needed);
    needs = needs_of(key);
    svc_key_close(key);
    own = (own + 1) & ~1u;
    more = needs ? list_length(needs) * (DWORD)sizeof(WCHAR) : 0;
    *needed = own + more;
    done = size >= own + more ? api.QueryServiceConfigW(handle, config, size, &own)
                              : svc_refuse(ERROR_INSUFFICIENT_BUFFER);
    if (done && more && (!config->lpDependencies || !*config->lpDependencies))
    {
        config->lpDependencies = (WCHAR *)(void *)((BYTE *)config + *needed - more);
        memcpy(config->lpDependencies, needs, more);
    }
    if (needs)
        heap_free(needs);
    return done;
}

static BOOL WINAPI hook_ChangeServiceConfigW(SC_HANDLE handle, DWORD type, DWORD start, DWORD control,
                                             const WCHAR *path, const WCHAR *group, DWORD *tag, const WCHAR *needs,
                                             const WCHAR *account, const WCHAR *password, const WCHAR *display)
{
    HKEY key = needs ? NULL : key_of(handle, KEY_READ);
    WCHAR *kept = key ? needs_of(key) : NULL;
    BOOL done = api.ChangeServiceConfigW(handle, type, start, control, path, group, tag, kept ? kept : needs, account,
                                         password, display);
    DWORD error = GetLastError();

    svc_key_close(key);
    if (kept)
        heap_free(kept);
    SetLastError(error);
    return done;
}

static DWORD change_failure(HKEY key, const SERVICE_FAILURE_ACTIONSW *actions)
{
    struct failure_plan plan = {.period = actions->dwResetPeriod, .count = actions->cActions};
    BYTE value[FAILURE_VALUE_MAX];
    DWORD error = 0, size;

    if (actions->lpsaActions)
    {
        if (plan.count > FAILURE_ACTIONS_MAX)
            return ERROR_INVALID_PARAMETER;
        for (DWORD i = 0; i < plan.count; i++)
        {
            plan.actions[i].type = (DWORD)actions->lpsaActions[i].Type;
            plan.actions[i].delay = actions->lpsaActions[i].Delay;
            if (plan.actions[i].type > FAILURE_RUN)
                return ERROR_INVALID_PARAMETER;
        }
        size = failure_write(&plan, value);
        error = svc_write(key, L"FailureActions", REG_BINARY, plan.count ? value : NULL, size);
    }
    if (!error && actions->lpRebootMsg)
        error = svc_write(key, L"RebootMessage", REG_SZ, *actions->lpRebootMsg ? actions->lpRebootMsg : NULL,
                          ((DWORD)lstrlenW(actions->lpRebootMsg) + 1) * sizeof(WCHAR));
    if (!error && actions->lpCommand)
        error = svc_write(key, L"FailureCommand", REG_SZ, *actions->lpCommand ? actions->lpCommand : NULL,
                          ((DWORD)lstrlenW(actions->lpCommand) + 1) * sizeof(WCHAR));
    return error;
}

/* The value of a level that is a number; NULL: it is none. */
static const WCHAR *number_value(DWORD level)
{
    static const WCHAR *const names[] = {L"DelayedAutostart", L"FailureActionsOnNonCrashFailures", L"ServiceSidType"};

    return level >= LEVEL_DELAYED && level <= LEVEL_SID ? names[level - LEVEL_DELAYED] : NULL;
}

static BOOL WINAPI hook_ChangeServiceConfig2W(SC_HANDLE handle, DWORD level, void *info)
{
    SERVICE_DESCRIPTIONW nothing = {NULL};
    const WCHAR *list;
    DWORD error;
    HKEY key;

    if (level < LEVEL_FAILURE || level > LEVEL_PRIVILEGES || !info)
        return api.ChangeServiceConfig2W(handle, level, info);
    if (!api.ChangeServiceConfig2W(handle, LEVEL_DESCRIPTION, &nothing)) /* changes nothing, and asks for the right */
        return FALSE;
    if (!(key = key_of(handle, KEY_READ | KEY_WRITE)))
        return svc_refuse(ERROR_INVALID_HANDLE);
    if (level == LEVEL_FAILURE)
        error = change_failure(key, info);
    else if (level == LEVEL_PRIVILEGES)
    {
        list = *(const WCHAR **)info;
        error = svc_write(key, L"RequiredPrivileges", REG_MULTI_SZ, list,
                          list ? list_length(list) * (DWORD)sizeof(WCHAR) : 0);
    }
    else
        error = svc_write(key, number_value(level), REG_DWORD, info, sizeof(DWORD));
    svc_key_close(key);
    return error ? svc_refuse(error) : TRUE;
}

static BOOL query_failure(HKEY key, SERVICE_FAILURE_ACTIONSW *actions, DWORD size, DWORD *needed)
{
    WCHAR *reboot = svc_value(key, L"RebootMessage", REG_SZ, NULL),
          *command = svc_value(key, L"FailureCommand", REG_SZ, NULL);
    DWORD reboot_length = reboot ? (DWORD)lstrlenW(reboot) + 1 : 0,
          command_length = command ? (DWORD)lstrlenW(command) + 1 : 0;
    struct failure_plan plan;
    BYTE *at = (BYTE *)actions + sizeof(*actions);
    BOOL fits;

    svc_plan(key, &plan);
    *needed = (DWORD)sizeof(*actions) + plan.count * (DWORD)sizeof(SC_ACTION) +
              (reboot_length + command_length) * (DWORD)sizeof(WCHAR);
    if ((fits = actions && size >= *needed))
    {
        actions->dwResetPeriod = plan.period;
        actions->cActions = plan.count;
        actions->lpsaActions = plan.count ? (SC_ACTION *)(void *)at : NULL;
        for (DWORD i = 0; i < plan.count; i++)
        {
            actions->lpsaActions[i].Type = (SC_ACTION_TYPE)plan.actions[i].type;
            actions->lpsaActions[i].Delay = plan.actions[i].delay;
        }
        at += plan.count * sizeof(SC_ACTION);
        at += svc_put_text(&actions->lpRebootMsg, at, reboot, reboot_length);
        svc_put_text(&actions->lpCommand, at, command, command_length);
    }
    if (reboot)
        heap_free(reboot);
    if (command)
        heap_free(command);
    return fits ? TRUE : svc_refuse(ERROR_INSUFFICIENT_BUFFER);
}

static BOOL query_privileges(HKEY key, WCHAR **list, DWORD size, DWORD *needed)
{
    WCHAR *value = svc_value(key, L"RequiredPrivileges", REG_MULTI_SZ, NULL);
    DWORD length = value ? list_length(value) : 0;
    BOOL fits;

    *needed = (DWORD)sizeof(*list) + length * (DWORD)sizeof(WCHAR);
    if ((fits = list && size >= *needed))
        svc_put_text(list, (BYTE *)(list + 1), value, length);
    if (value)
        heap_free(value);
    return fits ? TRUE : svc_refuse(ERROR_INSUFFICIENT_BUFFER);
}

static BOOL WINAPI hook_QueryServiceConfig2W(SC_HANDLE handle, DWORD level, BYTE *buffer, DWORD size, DWORD *needed)
{
    DWORD ignored;
    HKEY key;
    BOOL done = TRUE;

    if (level < LEVEL_FAILURE || level > LEVEL_PRIVILEGES || !needed)
        return api.QueryServiceConfig2W(handle, level, buffer, size, needed);
    if (!api.QueryServiceConfigW(handle, NULL, 0, &ignored) &&
        GetLastError() != ERROR_INSUFFICIENT_BUFFER) /* asks for the right */
        return FALSE;
    if (!(key = key_of(handle, KEY_READ)))
        return svc_refuse(ERROR_INVALID_HANDLE);
    if (level == LEVEL_FAILURE)
        done = query_failure(key, (SERVICE_FAILURE_ACTIONSW *)(void *)buffer, size, needed);
    else if (level == LEVEL_PRIVILEGES)
        done = query_privileges(key, (WCHAR **)(void *)buffer, size, needed);
    else if ((*needed = sizeof(DWORD)) > size || !buffer)
        done = svc_refuse(ERROR_INSUFFICIENT_BUFFER);
    else
        *(DWORD *)(void *)buffer = svc_number(key, number_value(level), 0);
    svc_key_close(key);
    return done;
}

void svcconfig_start(HMODULE sechost)
{
#define PATCH(name) patch_function(sechost, #name, hook_##name, (void **)&api.name)
    /* The others rest on the first ones. */
    if (api.OpenServiceW || !svc_find_functions(sechost) || !PATCH(OpenServiceW) || !PATCH(CreateServiceW) ||
        !PATCH(CloseServiceHandle) || !PATCH(QueryServiceConfigW))
        return;
    svcaccess_start(sechost);
    PATCH(ChangeServiceConfigW);
    if (PATCH(ChangeServiceConfig2W))
        PATCH(QueryServiceConfig2W);
    svcneeds_start(sechost);
#undef PATCH
}
