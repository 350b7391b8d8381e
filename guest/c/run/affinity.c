/*
 * Giving the programs of a container other processors while they run. On Windows the job that a container is has them,
 * and they are those of every process and thread in it. Here the kernel's cpuset keeps the programs to them, but
 * wineserver goes on with what a process began with: it answers GetProcessAffinityMask with that, and gives it to new
 * threads and processes.
 */
#include "run.h"
#include <tlhelp32.h>

/* One look at all processes; FALSE if one had other processors. A process that has ended meanwhile is none. */
static BOOL give(DWORD_PTR processors)
{
    PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0), process;
    DWORD_PTR had, all;
    BOOL same = TRUE;

    if (snapshot == INVALID_HANDLE_VALUE)
        return FALSE;
    for (BOOL more = Process32FirstW(snapshot, &entry); more; more = Process32NextW(snapshot, &entry))
    {
        if (!(process = OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_SET_INFORMATION, FALSE, entry.th32ProcessID)))
            continue;
        if (GetProcessAffinityMask(process, &had, &all) && had != processors)
        {
            SetProcessAffinityMask(process, processors);
            same = FALSE;
        }
        CloseHandle(process);
    }
    CloseHandle(snapshot);
    return same;
}

/*
 * Looks again until it finds nothing to do, because a process that is just being made may have its parent's old
 * processors. Returns 0, or 1 if there is always something to do.
 */
int run_spread_affinity(const struct options *opt)
{
    for (unsigned looks = 0; looks < 20; looks++, Sleep(10))
        if (give((DWORD_PTR)opt->affinity))
            return 0;
    return 1;
}
