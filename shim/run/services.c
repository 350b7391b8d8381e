/*
 * Wine's services on demand. A container starts without them; the few things that need them (network interfaces: nsiproxy; volumes: MountMgr; the service
 * control manager) have them started by `mullion-run.exe --services`, which the hooks run when a program asks for such a thing.
 */
#include "run.h"
#include "stacks.h"

enum
{
    START_TIMEOUT_MS = 30000
};

/* start_services returns 0 when services.exe has started what starts by itself. It starts it at most once in the life of a prefix. */
int start_services(void)
{
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION child;
    HANDLE lock = CreateMutexW(NULL, FALSE, L"__mullion_services");
    HANDLE wait[2] = {CreateEventW(NULL, TRUE, FALSE, L"__wine_SvcctlStarted")};
    int result = EXIT_NOT_STARTED;

    if (!lock || !wait[0])
        return result;
    WaitForSingleObject(lock, START_TIMEOUT_MS);
    detach_stdio();
    if (WaitForSingleObject(wait[0], 0) == WAIT_OBJECT_0)
    {
        result = 0;
    }
    else if (CreateProcessW(L"C:\\windows\\system32\\services.exe", NULL, NULL, NULL, FALSE, CREATE_SUSPENDED | DETACHED_PROCESS, NULL,
                            L"C:\\windows\\system32", &startup, &child))
    {
        spare_stacks(child.hProcess);
        ResumeThread(child.hThread);
        wait[1] = child.hProcess;
        if (WaitForMultipleObjects(2, wait, FALSE, START_TIMEOUT_MS) == WAIT_OBJECT_0)
            result = 0;
    }
    ReleaseMutex(lock);
    return result;
}
