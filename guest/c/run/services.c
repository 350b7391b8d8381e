/*
 * Wine's services on demand. A container starts without them; the hooks run `mullion-run.exe --services`, which starts
 * them, when a program asks for something that they provide (network interfaces: nsiproxy; volumes: MountMgr; the
 * service control manager).
 */
#include "run.h"
#include <tlhelp32.h>

enum
{
    START_TIMEOUT_MS = 30000
};

static BOOL has_module(DWORD pid, const WCHAR *path)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPMODULE, pid);
    MODULEENTRY32W module = {.dwSize = sizeof(module)};
    BOOL found = FALSE;

    if (snapshot == INVALID_HANDLE_VALUE)
        return TRUE; /* it is not known, so nothing is done to it */
    for (BOOL more = Module32FirstW(snapshot, &module); more && !found; more = Module32NextW(snapshot, &module))
        found = !run_str_casecmp(module.szExePath, path);
    CloseHandle(snapshot);
    return found;
}

/*
 * On a host it is Wine's wineboot.exe that starts services.exe, without the hooks; they are loaded into it as it runs.
 */
static void hook_running(const WCHAR *hook)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0), process;
    PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
    DWORD error;

    if (snapshot == INVALID_HANDLE_VALUE)
        return;
    for (BOOL more = Process32FirstW(snapshot, &entry); more; more = Process32NextW(snapshot, &entry))
    {
        if (run_str_casecmp(entry.szExeFile, L"services.exe") || has_module(entry.th32ProcessID, hook))
            continue;
        if ((process = OpenProcess(PROCESS_ALL_ACCESS, FALSE, entry.th32ProcessID)))
        {
            run_load_hook(process, NULL, hook, &error);
            CloseHandle(process);
        }
    }
    CloseHandle(snapshot);
}

/*
 * run_start_services starts services.exe, at most once in the life of a prefix, and returns 0 when all automatic
 * services have been started.
 */
int run_start_services(const WCHAR *hook)
{
    static const WCHAR services[] = L"C:\\windows\\system32\\services.exe";
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION child;
    HANDLE lock = CreateMutexW(NULL, FALSE, L"__mullion_services");
    HANDLE wait[2] = {CreateEventW(NULL, TRUE, FALSE, L"__wine_SvcctlStarted")};
    int result = EXIT_NOT_STARTED;
    DWORD error;

    if (!lock || !wait[0])
        return result;
    WaitForSingleObject(lock, START_TIMEOUT_MS);
    run_detach_stdio();
    if (WaitForSingleObject(wait[0], 0) == WAIT_OBJECT_0)
    {
        if (hook)
            hook_running(hook);
        result = 0;
    }
    else if (CreateProcessW(services, NULL, NULL, NULL, FALSE, CREATE_SUSPENDED | DETACHED_PROCESS, NULL,
                            L"C:\\windows\\system32", &startup, &child))
    {
        /* without the hooks, services have none either, and nobody sees them die */
        run_prepare_child(child.hProcess, hook, &error);
        ResumeThread(child.hThread);
        wait[1] = child.hProcess;
        if (WaitForMultipleObjects(2, wait, FALSE, START_TIMEOUT_MS) == WAIT_OBJECT_0)
            result = 0;
    }
    ReleaseMutex(lock);
    return result;
}
