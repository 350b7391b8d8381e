/*
 * The priority class of a process: NtSetInformationProcess, NtSetInformationJobObject, NtAssignProcessToJobObject.
 *
 * Fact (Wine 8.0): the class is kept and told, and no thread runs sooner or later for it; kubelet.exe has a flag for it
 * (--windows-priorityclass, which cmd/kubelet/app/init_windows.go makes the limit of a job object that it puts itself
 * into). Here it is the nice value of the process's threads (sched(7)): new
 * threads have that of the thread that makes them. A step of nice is a quarter more of the time of those that compete.
 * A program takes its nice value from its class as it begins, so the flags of CreateProcess have their effect, and a
 * program that is started by one of a higher class is NORMAL. A class that is set from outside afterwards is a word
 * alone.
 *
 * Linux lets root of the machine alone be nicer than 0: programs of a host are that. In a container, which is in a user
 * namespace, the higher classes stay at 0, and a class that was lowered stays low.
 */
#include "priority.h"

#include "hooks.h"
#include "linux.h"

#define PRIORITY_CLASS 18 /* ProcessPriorityClass */
#define LISTING 2048
#define MOST_LOOKS 8

typedef NTSTATUS(WINAPI *set_process)(HANDLE, ULONG, void *, ULONG);

struct priority_class /* PROCESS_PRIORITY_CLASS */
{
    BOOLEAN foreground;
    BYTE class;
};

typedef NTSTATUS(WINAPI *set_job)(HANDLE, ULONG, void *, ULONG);
typedef NTSTATUS(WINAPI *assign)(HANDLE, HANDLE);

static set_process original_set;
static set_job original_set_job;
static assign original_assign;

/* The job object that was last given a limit of the priority class, and that class. */
static HANDLE limiting_job;
static DWORD limit;
static DWORD own_limit; /* of the job that the process is in; 0: none */

/* Until a class other than NORMAL was given, the nice value is that of whoever started all of it. */
static BOOL given;

static int nice_of(DWORD class)
{
    switch (class)
    {
    case IDLE_PRIORITY_CLASS: return 15;
    case BELOW_NORMAL_PRIORITY_CLASS: return 5;
    case ABOVE_NORMAL_PRIORITY_CLASS: return -5;
    case HIGH_PRIORITY_CLASS: return -10;
    case REALTIME_PRIORITY_CLASS: return -15;
    default: return 0;
    }
}

static int number(const char *text)
{
    int n = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (*text - '0');
    return *text ? -1 : n;
}

static BOOL may(int nice)
{
    return !lx_setpriority(lx_gettid(), nice);
}

/* Sets the nice value of the threads that a folder lists; FALSE: all had it. */
static BOOL set_listed(int folder, int nice)
{
    char listing[LISTING] __attribute__((aligned(8)));
    BOOL any = FALSE;
    int length;

    while ((length = lx_getdents(folder, listing, sizeof(listing))) > 0)
        for (int at = 0; at < length;)
        {
            const struct lx_dirent *entry = (const struct lx_dirent *)(const void *)(listing + at);
            int thread = number(entry->name);

            if (thread > 0 && lx_getpriority(thread) != nice && !lx_setpriority(thread, nice))
                any = TRUE;
            at += entry->reclen;
        }
    return any;
}

/* Sets the nice value of all threads. One that begins meanwhile may have the old one, and is found by another look. */
static void set_nice(int nice)
{
    BOOL again = TRUE;

    if (!nice && !given && lx_getpriority(0) >= 0)
        return;
    given = TRUE;
    if (!may(nice) && !(nice < 0 && may(nice = 0)))
        return;
    for (int looks = 0; again && looks < MOST_LOOKS; looks++)
    {
        int folder = lx_openat(LX_AT_FDCWD, "/proc/self/task", LX_O_RDONLY | LX_O_DIRECTORY | LX_O_CLOEXEC);

        if (folder < 0)
            return;
        again = set_listed(folder, nice);
        lx_close(folder);
    }
}

void priority_child(HANDLE process, DWORD flags)
{
    const DWORD low = IDLE_PRIORITY_CLASS | BELOW_NORMAL_PRIORITY_CLASS;
    DWORD class = flags & (low | NORMAL_PRIORITY_CLASS | ABOVE_NORMAL_PRIORITY_CLASS | HIGH_PRIORITY_CLASS |
                           REALTIME_PRIORITY_CLASS);

    if (own_limit)
        class = own_limit;
    else if (!class)
        class = GetPriorityClass(GetCurrentProcess()) & low;
    if (class)
        SetPriorityClass(process, class);
}

static BOOL is_own(HANDLE process)
{
    return GetProcessId(process) == GetCurrentProcessId();
}

static NTSTATUS WINAPI hook_NtSetInformationProcess(HANDLE process, ULONG class, void *information, ULONG size)
{
    NTSTATUS status = original_set(process, class, information, size);

    if (!status && class == PRIORITY_CLASS && size == sizeof(struct priority_class) && is_own(process))
        set_nice(nice_of(GetPriorityClass(GetCurrentProcess())));
    return status;
}

static NTSTATUS WINAPI hook_NtSetInformationJobObject(HANDLE job, ULONG class, void *information, ULONG size)
{
    const JOBOBJECT_BASIC_LIMIT_INFORMATION *limits = information; /* what extended limits begin with, too */
    NTSTATUS status = original_set_job(job, class, information, size);

    if (status || size < sizeof(*limits) ||
        (class != JobObjectBasicLimitInformation && class != JobObjectExtendedLimitInformation))
        return status;
    if (limits->LimitFlags & JOB_OBJECT_LIMIT_PRIORITY_CLASS)
    {
        limit = limits->PriorityClass;
        limiting_job = job;
    }
    else if (limiting_job == job)
        limiting_job = NULL;
    return status;
}

static NTSTATUS WINAPI hook_NtAssignProcessToJobObject(HANDLE job, HANDLE process)
{
    NTSTATUS status = original_assign(job, process);

    if (!status && job && job == limiting_job)
    {
        if (is_own(process))
            own_limit = limit;
        SetPriorityClass(process, limit);
    }
    return status;
}

void priority_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    set_nice(nice_of(GetPriorityClass(GetCurrentProcess())));
    patch_function(ntdll, "NtSetInformationProcess", hook_NtSetInformationProcess, (void **)&original_set);
    patch_function(ntdll, "NtSetInformationJobObject", hook_NtSetInformationJobObject, (void **)&original_set_job);
    patch_function(ntdll, "NtAssignProcessToJobObject", hook_NtAssignProcessToJobObject, (void **)&original_assign);
}
