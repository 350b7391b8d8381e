/*
 * The registry of services. kernelbase.dll has the functions; advapi32.dll, which has them for programs, is not loaded
 * in every process.
 *
 * Names and types of the values are those of Windows: HKLM\SYSTEM\CurrentControlSet\Services\NAME with FailureActions,
 * FailureCommand, RebootMessage, FailureActionsOnNonCrashFailures, DelayedAutostart, Environment, DependOnService.
 */
#include "svckey.h"

#include "heap.h"

#define KILL_TIMEOUT_MS 5000 /* of Windows, if the registry says nothing */

typedef LONG(WINAPI *reg_open)(HKEY, const WCHAR *, DWORD, REGSAM, HKEY *);
typedef LONG(WINAPI *reg_create)(HKEY, const WCHAR *, DWORD, WCHAR *, DWORD, REGSAM, SECURITY_ATTRIBUTES *, HKEY *,
                                 DWORD *);
typedef LONG(WINAPI *reg_query)(HKEY, const WCHAR *, DWORD *, DWORD *, BYTE *, DWORD *);
typedef LONG(WINAPI *reg_set)(HKEY, const WCHAR *, DWORD, DWORD, const BYTE *, DWORD);
typedef LONG(WINAPI *reg_delete)(HKEY, const WCHAR *);
typedef LONG(WINAPI *reg_close)(HKEY);

#define REGISTRY(type, name) ((type)(void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), name))

static HKEY open_key(const WCHAR *path, REGSAM access)
{
    reg_open open = REGISTRY(reg_open, "RegOpenKeyExW");
    HKEY key = NULL;

    if (!open || open(HKEY_LOCAL_MACHINE, path, 0, access, &key))
        return NULL;
    return key;
}

HKEY svc_key(const WCHAR *name, REGSAM access)
{
    static const WCHAR root[] = L"System\\CurrentControlSet\\Services\\";
    WCHAR path[sizeof(root) / sizeof(WCHAR) + SERVICE_NAME_SIZE];

    if (!*name || lstrlenW(name) >= SERVICE_NAME_SIZE)
        return NULL;
    lstrcpyW(path, root);
    lstrcatW(path, name);
    return open_key(path, access);
}

void svc_key_close(HKEY key)
{
    reg_close close = REGISTRY(reg_close, "RegCloseKey");

    if (key && close)
        close(key);
}

DWORD svc_number(HKEY key, const WCHAR *value, DWORD fallback)
{
    reg_query query = REGISTRY(reg_query, "RegQueryValueExW");
    DWORD type, number, size = sizeof(number);

    if (!key || !query || query(key, value, NULL, &type, (BYTE *)&number, &size) || type != REG_DWORD)
        return fallback;
    return number;
}

void *svc_value(HKEY key, const WCHAR *value, DWORD type, DWORD *size)
{
    reg_query query = REGISTRY(reg_query, "RegQueryValueExW");
    DWORD is, length = 0;
    void *data;

    if (!key || !query || query(key, value, NULL, &is, NULL, &length) || is != type ||
        !(data = heap_alloc(length + 2 * sizeof(WCHAR))))
        return NULL;
    if (query(key, value, NULL, &is, data, &length))
    {
        heap_free(data);
        return NULL;
    }
    if (size)
        *size = length;
    return data;
}

DWORD svc_write(HKEY key, const WCHAR *value, DWORD type, const void *data, DWORD size)
{
    reg_set set = REGISTRY(reg_set, "RegSetValueExW");
    reg_delete delete = REGISTRY(reg_delete, "RegDeleteValueW");
    LONG error;

    if (!set || !delete)
        return ERROR_CALL_NOT_IMPLEMENTED;
    error = data ? set(key, value, 0, type, data, size) : delete (key, value);
    return !data && error == ERROR_FILE_NOT_FOUND ? 0 : (DWORD)error;
}

void svc_event_source(void)
{
    reg_create create = REGISTRY(reg_create, "RegCreateKeyExW");
    DWORD types = EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_INFORMATION_TYPE;
    HKEY key;

    if (create &&
        !create(HKEY_LOCAL_MACHINE, L"System\\CurrentControlSet\\Services\\EventLog\\System\\Service Control Manager",
                0, NULL, 0, KEY_WRITE, NULL, &key, NULL))
    {
        svc_write(key, L"TypesSupported", REG_DWORD, &types, sizeof(types));
        svc_key_close(key);
    }
}

DWORD svc_kill_timeout(void)
{
    HKEY key = open_key(L"System\\CurrentControlSet\\Control", KEY_READ);
    WCHAR *text = svc_value(key, L"WaitToKillServiceTimeout", REG_SZ, NULL);
    DWORD ms = 0;

    for (const WCHAR *p = text; p && *p >= '0' && *p <= '9' && ms < 100000000; p++)
        ms = ms * 10 + (DWORD)(*p - '0');
    if (text)
        heap_free(text);
    svc_key_close(key);
    return ms ? ms : KILL_TIMEOUT_MS;
}

BOOL svc_plan(HKEY key, struct failure_plan *plan)
{
    DWORD size = 0;
    BYTE *value = svc_value(key, L"FailureActions", REG_BINARY, &size);
    BOOL read = value && failure_read(value, size, plan);

    if (!read)
        plan->period = plan->count = 0;
    if (value)
        heap_free(value);
    return read;
}

static void stop_name(const WCHAR *name, WCHAR *event)
{
    lstrcpyW(event, L"Global\\MullionStop-");
    lstrcatW(event, name);
}

HANDLE svc_stop_ask(const WCHAR *name)
{
    WCHAR event[SERVICE_NAME_SIZE + 32];

    stop_name(name, event);
    return CreateEventW(NULL, TRUE, TRUE, event);
}

BOOL svc_stop_asked(const WCHAR *name)
{
    WCHAR event[SERVICE_NAME_SIZE + 32];
    HANDLE open;

    stop_name(name, event);
    if (!(open = OpenEventW(SYNCHRONIZE, FALSE, event)))
        return FALSE;
    CloseHandle(open);
    return TRUE;
}
