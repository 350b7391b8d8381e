/*
 * The commit limit of a container: NtAllocateVirtualMemory, GlobalMemoryStatusEx.
 *
 * Facts (Wine 8.0): memory that Linux refuses is STATUS_NO_MEMORY, or STATUS_ACCESS_DENIED for pages that were reserved before, where Windows says
 * STATUS_COMMITMENT_LIMIT at a job's limit; GlobalMemoryStatusEx tells the machine's figures, where Windows takes the process's limit if that is smaller
 * (https://learn.microsoft.com/windows/win32/api/sysinfoapi/ns-sysinfoapi-memorystatusex, ullTotalPageFile and ullAvailPageFile). What a program may have
 * is its soft RLIMIT_DATA, which mullion-init keeps (internal/runtime/containerinit).
 */
#include <string.h>

#include "hooks.h"
#include "linux.h"

#define PAGE_BYTES 4096
#define JOB_EXTENDED_LIMITS 9 /* JobObjectExtendedLimitInformation */

typedef NTSTATUS(WINAPI *allocate_memory)(HANDLE, void **, ULONG_PTR, SIZE_T *, ULONG, ULONG);

static allocate_memory original_allocate;
static BOOL(WINAPI *original_status)(MEMORYSTATUSEX *);

/* How much more private memory Linux lets this process have; FALSE: as much as there is. */
static BOOL left(UINT64 *bytes)
{
    enum
    {
        SYS_prlimit64 = 302,
        RLIMIT_DATA = 2
    };
    UINT64 limit[2], pages = 0;
    char text[256];
    INT64 size;
    int fd, field = 0;

    if (lx4(SYS_prlimit64, 0, RLIMIT_DATA, 0, limit) < 0 || limit[0] == ~(UINT64)0)
        return FALSE;
    if ((fd = lx_openat(LX_AT_FDCWD, "/proc/self/statm", LX_O_RDONLY | LX_O_CLOEXEC)) < 0)
        return FALSE;
    size = lx_read(fd, text, sizeof(text) - 1);
    lx_close(fd);
    text[size > 0 ? size : 0] = 0;
    for (const char *p = text; *p && field < 6; p++) /* size resident shared text lib data */
    {
        if (*p < '0' || *p > '9')
            field++;
        else if (field == 5)
            pages = pages * 10 + (UINT64)(*p - '0');
    }
    *bytes = limit[0] > pages * PAGE_BYTES ? limit[0] - pages * PAGE_BYTES : 0;
    return TRUE;
}

static NTSTATUS WINAPI hook_NtAllocateVirtualMemory(HANDLE process, void **at, ULONG_PTR zero_bits, SIZE_T *size, ULONG type, ULONG protect)
{
    NTSTATUS status = original_allocate(process, at, zero_bits, size, type, protect);
    UINT64 bytes;

    if ((status == STATUS_NO_MEMORY || status == STATUS_ACCESS_DENIED) && (type & MEM_COMMIT) && process == GetCurrentProcess() && left(&bytes) &&
        *size > bytes)
        return STATUS_COMMITMENT_LIMIT;
    return status;
}

static BOOL WINAPI hook_GlobalMemoryStatusEx(MEMORYSTATUSEX *memory)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job;
    UINT64 bytes;

    if (!original_status(memory))
        return FALSE;
    if (QueryInformationJobObject(NULL, JOB_EXTENDED_LIMITS, &job, sizeof(job), NULL) && job.JobMemoryLimit && job.JobMemoryLimit < memory->ullTotalPageFile)
        memory->ullTotalPageFile = job.JobMemoryLimit;
    if (left(&bytes) && bytes < memory->ullAvailPageFile)
        memory->ullAvailPageFile = bytes;
    if (memory->ullAvailPageFile > memory->ullTotalPageFile)
        memory->ullAvailPageFile = memory->ullTotalPageFile;
    return TRUE;
}

void commit_start(void)
{
    patch_function(GetModuleHandleW(L"ntdll.dll"), "NtAllocateVirtualMemory", hook_NtAllocateVirtualMemory, (void **)&original_allocate);
    patch_function(GetModuleHandleW(L"kernelbase.dll"), "GlobalMemoryStatusEx", hook_GlobalMemoryStatusEx, (void **)&original_status);
}
