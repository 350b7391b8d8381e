/*
 * What Wine's service control manager does not do, done in services.exe itself: seeing that a service's process has
 * died, carrying out its failure actions, giving it the variables of its key, and loading the hooks into it.
 *
 * Facts (Wine 8.0, programs/services/services.c): services.exe starts one service after another, and its lock is free
 * while it calls CreateProcess; until the call returns the service is START_PENDING with the process id 0, so that is
 * how it is found. It does not wait for a process that it has started, so a service whose process has died counts as
 * running, or, if it had only been told to start, as START_PENDING for ever. What a service says by SetServiceStatus it
 * says through a handle with the right SERVICE_SET_STATUS (0x8000), which any process can open.
 * SERVICE_CONFIG_FAILURE_ACTIONS is not kept; svcconfig.c keeps it in the registry.
 *
 * Windows: a process that ends without SERVICE_STOPPED has failed, and so has, with FailureActionsOnNonCrashFailures, a
 * service that stops with an exit code
 * (learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_failure_actions_flag). The service is then STOPPED
 * with ERROR_PROCESS_ABORTED.
 */
#include "winsock.h"

#include "program.h"
#include "scm.h"
#include "scmevent.h"

#include "hooks.h"
#include "path.h"
#include "svckey.h"
#include "svcstop.h"
#include "heap.h"

#define THREAD_STACK 0x20000 /* bytes; the threads do little but wait */
#define SET_STATUS 0x8000    /* SERVICE_SET_STATUS of [MS-SCMR] 3.1.4 */
#define START_ENDS 5000      /* ms that services.exe has to see that a process has died that it starts */
#define START_LOOK 50        /* ms */

struct scm_service
{
    WCHAR name[SERVICE_NAME_SIZE];
    HANDLE process;
    DWORD pid;
};

/* Failures of a service, kept as long as services.exe runs. */
struct history
{
    struct history *next;
    struct failure_record record;
    WCHAR name[SERVICE_NAME_SIZE];
};

static struct
{
    SC_HANDLE(WINAPI *OpenSCManagerW)(const WCHAR *, const WCHAR *, DWORD);
    SC_HANDLE(WINAPI *OpenServiceW)(SC_HANDLE, const WCHAR *, DWORD);
    BOOL(WINAPI *CloseServiceHandle)(SC_HANDLE);
    BOOL(WINAPI *StartServiceW)(SC_HANDLE, DWORD, const WCHAR **);
    BOOL(WINAPI *SetServiceStatus)(SC_HANDLE, SERVICE_STATUS *);
    BOOL(WINAPI *QueryServiceStatusEx)(SC_HANDLE, SC_STATUS_TYPE, BYTE *, DWORD, DWORD *);
    BOOL(WINAPI *EnumServicesStatusExW)
    (SC_HANDLE, SC_ENUM_TYPE, DWORD, DWORD, BYTE *, DWORD, DWORD *, DWORD *, DWORD *, const WCHAR *);
} api;

static BOOL here;
static HANDLE shutdown_event;
static SRWLOCK histories_lock = SRWLOCK_INIT;
static struct history *histories;
static volatile LONG commands; /* programs of failure actions that are being started */

BOOL scm_here(void)
{
    return here;
}

BOOL scm_own(const WCHAR *command)
{
    static const WCHAR *const own[] = {L"winedevice.exe", L"plugplay.exe", L"svchost.exe", L"rpcss.exe",
                                       L"mscorsvw.exe"};
    WCHAR folder[MAX_PATH];
    unsigned length = GetSystemDirectoryW(folder, MAX_PATH);

    if (*command == '"')
        command++;
    if (!path_same_name(command, folder, length) || command[length] != '\\')
        return FALSE;
    for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (path_same_name(command + length + 1, own[i], lstrlenW(own[i])))
            return TRUE;
    return FALSE;
}

/* The services that do not stand still, from the heap; NULL: none, or an error, and then count is 0. */
static ENUM_SERVICE_STATUS_PROCESSW *list_active(SC_HANDLE manager, DWORD *count)
{
    ENUM_SERVICE_STATUS_PROCESSW *list = NULL;
    DWORD size = 0;

    api.EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32, SERVICE_ACTIVE, NULL, 0, &size, count, NULL,
                              NULL);
    *count = 0;
    if (size && (list = heap_alloc(size)))
        api.EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32, SERVICE_ACTIVE, (BYTE *)list, size,
                                  &size, count, NULL, NULL);
    return list;
}

struct scm_service *scm_starting(void)
{
    SC_HANDLE manager;
    struct scm_service *service = NULL;
    ENUM_SERVICE_STATUS_PROCESSW *list;
    DWORD count;

    if (!here || commands ||
        !(manager = api.OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE)))
        return NULL;
    list = list_active(manager, &count);
    for (DWORD i = 0; i < count && !service; i++)
        if (list[i].ServiceStatusProcess.dwCurrentState == SERVICE_START_PENDING &&
            !list[i].ServiceStatusProcess.dwProcessId && (service = heap_alloc(sizeof(*service))))
            lstrcpynW(service->name, list[i].lpServiceName, SERVICE_NAME_SIZE);
    if (list)
        heap_free(list);
    api.CloseServiceHandle(manager);
    return service;
}

static unsigned name_length(const WCHAR *variable)
{
    unsigned length = *variable ? 1 : 0; /* "=C:" begins with its name's own sign */

    while (variable[length] && variable[length] != '=')
        length++;
    return length;
}

static unsigned block_length(const WCHAR *block)
{
    unsigned length = 0;

    while (block[length])
        length += (unsigned)lstrlenW(block + length) + 1;
    return length;
}

static BOOL has(const WCHAR *block, const WCHAR *variable)
{
    unsigned length = name_length(variable);

    for (; *block; block += lstrlenW(block) + 1)
        if (name_length(block) == length && path_same_name(block, variable, length))
            return TRUE;
    return FALSE;
}

WCHAR *scm_environment(const struct scm_service *service, const WCHAR *environment)
{
    HKEY key = service ? svc_key(service->name, KEY_READ) : NULL;
    WCHAR *own = svc_value(key, L"Environment", REG_MULTI_SZ, NULL), *merged = NULL, *to;

    svc_key_close(key);
    if (own && environment &&
        (merged = heap_alloc((block_length(own) + block_length(environment) + 1) * sizeof(WCHAR))))
    {
        to = merged;
        for (const WCHAR *p = environment; *p; p += lstrlenW(p) + 1)
            if (!has(own, p))
            {
                lstrcpyW(to, p);
                to += lstrlenW(to) + 1;
            }
        for (const WCHAR *p = own; *p; p += lstrlenW(p) + 1)
        {
            lstrcpyW(to, p);
            to += lstrlenW(to) + 1;
        }
    }
    if (own)
        heap_free(own);
    return merged;
}

HANDLE scm_output(const struct scm_service *service)
{
    HKEY key = service ? svc_key(service->name, KEY_READ) : NULL;
    WCHAR *path = svc_value(key, L"MullionOutput", REG_SZ, NULL);
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof(inherited), .bInheritHandle = TRUE};
    HANDLE file = INVALID_HANDLE_VALUE;

    svc_key_close(key);
    if (path)
    {
        file = CreateFileW(path, FILE_APPEND_DATA | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                           &inherited, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
        heap_free(path);
    }
    return file == INVALID_HANDLE_VALUE ? NULL : file;
}

/* Counts a failure and says what is to be done; count is how many there were. */
static struct failure_action next_action(const WCHAR *name, const struct failure_plan *plan, DWORD *count)
{
    struct failure_action action = {FAILURE_NONE, 0};
    struct history *h;

    AcquireSRWLockExclusive(&histories_lock);
    for (h = histories; h && lstrcmpiW(h->name, name); h = h->next)
    {
    }
    if (!h && (h = heap_alloc(sizeof(*h))))
    {
        lstrcpyW(h->name, name);
        h->next = histories;
        histories = h;
    }
    if (h)
    {
        action = failure_next(&h->record, plan, GetTickCount64());
        *count = h->record.count;
    }
    ReleaseSRWLockExclusive(&histories_lock);
    return action;
}

/* Runs the program of the key, in whose command line %1% is the number of failures. */
static void run_command(HKEY key, DWORD count)
{
    WCHAR *command = svc_value(key, L"FailureCommand", REG_SZ, NULL), number[12], *line, *to;
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION process;

    if (!command)
        return;
    scm_write_number(number, count);
    if ((line = heap_alloc(((unsigned)lstrlenW(command) * 12 + 1) * sizeof(WCHAR))))
    {
        to = line;
        for (const WCHAR *p = command; *p;)
        {
            if (p[0] == '%' && p[1] == '1' && p[2] == '%')
            {
                lstrcpyW(to, number);
                to += lstrlenW(to);
                p += 3;
            }
            else
                *to++ = *p++;
        }
        InterlockedIncrement(&commands);
        if (CreateProcessW(NULL, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, NULL, &startup, &process))
        {
            CloseHandle(process.hThread);
            CloseHandle(process.hProcess);
        }
        InterlockedDecrement(&commands);
        heap_free(line);
    }
    heap_free(command);
}

static void failed(SC_HANDLE handle, const WCHAR *name)
{
    HKEY key = svc_key(name, KEY_READ);
    struct failure_plan plan;
    struct failure_action action;
    DWORD count = 0;

    svc_plan(key, &plan);
    action = next_action(name, &plan, &count);
    scm_report_failure(name, key, action, count);
    if (action.type != FAILURE_NONE && WaitForSingleObject(shutdown_event, action.delay) == WAIT_TIMEOUT)
    {
        if (action.type == FAILURE_RESTART)
            api.StartServiceW(handle, 0, NULL);
        else if (action.type == FAILURE_RUN)
            run_command(key, count);
    }
    svc_key_close(key);
}

/*
 * Asks for the state of a service whose process has ended. While services.exe still starts it, services.exe says itself
 * that it has stopped.
 */
static BOOL state_after(SC_HANDLE handle, DWORD pid, SERVICE_STATUS_PROCESS *is)
{
    DWORD size;

    for (unsigned waited = 0;; waited += START_LOOK)
    {
        if (!api.QueryServiceStatusEx(handle, SC_STATUS_PROCESS_INFO, (BYTE *)is, sizeof(*is), &size))
            return FALSE;
        if (is->dwCurrentState != SERVICE_START_PENDING || is->dwProcessId != pid || waited >= START_ENDS ||
            WaitForSingleObject(shutdown_event, START_LOOK) == WAIT_OBJECT_0)
            return TRUE;
    }
}

/* Looks at a service whose process has ended. */
static void ended(const struct scm_service *service)
{
    SC_HANDLE manager = api.OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT);
    SC_HANDLE handle = manager
                           ? api.OpenServiceW(manager, service->name, SERVICE_QUERY_STATUS | SERVICE_START | SET_STATUS)
                           : NULL;
    SERVICE_STATUS_PROCESS is;
    SERVICE_STATUS status = {0};
    HKEY key;
    BOOL over = WaitForSingleObject(shutdown_event, 0) == WAIT_OBJECT_0, bad = FALSE;

    if (handle && state_after(handle, service->pid, &is))
    {
        if (is.dwCurrentState != SERVICE_STOPPED && is.dwProcessId == service->pid)
        {
            status.dwServiceType = is.dwServiceType;
            status.dwCurrentState = SERVICE_STOPPED;
            /* kube-proxy.exe ends when it is told to stop, without saying that it has stopped */
            if (is.dwCurrentState == SERVICE_STOP_PENDING || svc_stop_asked(service->name))
                api.SetServiceStatus(handle, &status);
            else
            {
                status.dwWin32ExitCode = ERROR_PROCESS_ABORTED;
                bad = api.SetServiceStatus(handle, &status);
            }
        }
        else if (is.dwCurrentState == SERVICE_STOPPED && is.dwWin32ExitCode &&
                 is.dwWin32ExitCode != ERROR_SERVICE_NEVER_STARTED)
        {
            key = svc_key(service->name, KEY_READ);
            scm_report_error(service->name, key, &is);
            bad = svc_number(key, L"FailureActionsOnNonCrashFailures", 0) != 0;
            svc_key_close(key);
        }
        if (bad && !over)
            failed(handle, service->name);
    }
    if (handle)
        api.CloseServiceHandle(handle);
    if (manager)
        api.CloseServiceHandle(manager);
}

static DWORD WINAPI watch(void *argument)
{
    struct scm_service *service = argument;

    WaitForSingleObject(service->process, INFINITE);
    CloseHandle(service->process);
    ended(service);
    heap_free(service);
    return 0;
}

void scm_watch(struct scm_service *service, const PROCESS_INFORMATION *process)
{
    HANDLE thread = NULL, self = GetCurrentProcess();

    if (!service)
        return;
    if (process && DuplicateHandle(self, process->hProcess, self, &service->process, 0, FALSE, DUPLICATE_SAME_ACCESS))
    {
        service->pid = process->dwProcessId;
        if ((thread = CreateThread(NULL, THREAD_STACK, watch, service, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL)))
            CloseHandle(thread);
        else
            CloseHandle(service->process);
    }
    if (!thread)
        heap_free(service);
}

/*
 * Watches the services that run already: a host's services.exe starts those that start automatically before the hooks
 * are loaded into it. Their processes are without the hooks, and without the variables of their keys.
 */
static DWORD WINAPI adopt(void *unused)
{
    HANDLE up = OpenEventW(SYNCHRONIZE, FALSE, L"__wine_SvcctlStarted");
    SC_HANDLE manager;
    ENUM_SERVICE_STATUS_PROCESSW *list;
    PROCESS_INFORMATION process = {0};
    struct scm_service *service;
    DWORD count;

    (void)unused;
    if (!up)
        return 0; /* nothing can run yet */
    CloseHandle(up);
    if (!(manager = api.OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE)))
        return 0;
    list = list_active(manager, &count);
    for (DWORD i = 0; i < count; i++)
    {
        process.dwProcessId = list[i].ServiceStatusProcess.dwProcessId;
        if (!process.dwProcessId || !(process.hProcess = OpenProcess(SYNCHRONIZE, FALSE, process.dwProcessId)))
            continue;
        if ((service = heap_alloc(sizeof(*service))))
        {
            lstrcpynW(service->name, list[i].lpServiceName, SERVICE_NAME_SIZE);
            scm_watch(service, &process);
        }
        CloseHandle(process.hProcess);
    }
    if (list)
        heap_free(list);
    api.CloseServiceHandle(manager);
    return 0;
}

void scm_start(void)
{
    HMODULE sechost = GetModuleHandleW(L"sechost.dll"), advapi32 = GetModuleHandleW(L"advapi32.dll");
    HANDLE thread;

    if (!program_is(L"services.exe") || !sechost || !advapi32 || !(shutdown_event = svc_shutdown_event()))
        return;
#define FIND(module, name) api.name = (void *)GetProcAddress(module, #name)
    FIND(sechost, OpenSCManagerW);
    FIND(sechost, OpenServiceW);
    FIND(sechost, CloseServiceHandle);
    FIND(sechost, StartServiceW);
    FIND(sechost, SetServiceStatus);
    FIND(sechost, QueryServiceStatusEx);
    FIND(sechost, EnumServicesStatusExW);
#undef FIND
    here = api.OpenSCManagerW && api.OpenServiceW && api.CloseServiceHandle && api.StartServiceW &&
           api.SetServiceStatus && api.QueryServiceStatusEx && api.EnumServicesStatusExW;
    scm_event_start(advapi32);
    eventlog_start(advapi32);
    if (here && (thread = CreateThread(NULL, THREAD_STACK, adopt, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL)))
        CloseHandle(thread);
}
