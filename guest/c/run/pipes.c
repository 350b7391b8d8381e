/* The host's named pipes that are mounted into a container. */
#include "run.h"

enum
{
    PIPES_TIMEOUT_MS = 30000
};

/*
 * run_start_pipes runs the command that has the container's pipes, mullion-pipe.exe, and returns when they are there:
 * the program may open them at once. The command tells by the event of that name, and lives as long as the container.
 */
BOOL run_start_pipes(WCHAR *line)
{
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION child;
    HANDLE wait[2] = {CreateEventW(NULL, TRUE, FALSE, L"mullion_pipes")};
    BOOL there;

    if (!wait[0] || !CreateProcessW(NULL, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, L"C:\\windows\\system32",
                                    &startup, &child))
        return FALSE;
    wait[1] = child.hProcess;
    there = WaitForMultipleObjects(2, wait, FALSE, PIPES_TIMEOUT_MS) == WAIT_OBJECT_0;
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
    CloseHandle(wait[0]);
    return there;
}
