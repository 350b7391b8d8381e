/*
 * The memory of a node that has a part of the machine's: what NtQuerySystemInformation says of it (session.c asks),
 * NtAllocateVirtualMemory in containers.
 *
 * Facts (Wine 8.0 to 10.0): GlobalMemoryStatusEx, GetPerformanceInfo and GetPhysicallyInstalledSystemMemory ask
 * NtQuerySystemInformation (dlls/kernelbase/ memory.c, process.c, dlls/kernel32/heap.c), which answers with sysinfo(2)
 * and /proc/meminfo, and those are the machine's. A node without a part of its own has no files of it
 * (common/nodememory.h), and nothing is patched. As in our counters (pdh/defs.c), committed is what is in use.
 *
 * Windows refuses to commit more than its commit limit, and programs live with that. Linux gives all, and kills when it
 * is touched and there is no more. So a program in a container that asks for more than the node has left gets Windows'
 * answer: the node is looked at after each STEP that the program has asked for. KEPT is left, for the pages of programs
 * that the kernel has to read again, and for what is SMALL, so that a program can say that it was refused. What is
 * committed and not touched is not counted, and can still be too much: then the kernel kills. The host's own programs
 * are not refused: the kubelet has to go on evicting. A container's own limit is asked for too (commit.c).
 */
#include "memory.h"

#include <string.h>

#include "commit.h"
#include "hooks.h"
#include "job.h"
#include "linux.h"

#define BASIC 0       /* SystemBasicInformation */
#define PERFORMANCE 2 /* SystemPerformanceInformation */
#define PAGE_BITS 12
#define STEP (4 << 20)
#define SMALL (256 << 10)
#define KEPT (64 << 20)
#define CONTAINER "/run/mullion/job" /* see job.c */
#define COMMITMENT_LIMIT ((NTSTATUS)0xC000012D)

/* The beginnings of the two structures (Wine's include/winternl.h, the same as Windows'). */
struct basic
{
    ULONG unknown, increment, page, pages, lowest, highest;
};

struct performance
{
    LONGLONG times[4];
    ULONG operations[3], available, committed, limit, peak;
};

static NTSTATUS(WINAPI *original_allocate)(HANDLE, void **, ULONG_PTR, SIZE_T *, ULONG, ULONG);
static BOOL limited; /* the node has a part of the machine's memory */
static LONG64 asked; /* since the node was looked at */

static BOOL read_file(const char *path, char *text, SIZE_T room)
{
    int fd = lx_openat(LX_AT_FDCWD, path, LX_O_RDONLY | LX_O_NONBLOCK | LX_O_CLOEXEC);
    INT64 size;

    if (fd < 0)
        return FALSE;
    size = lx_read(fd, text, room - 1);
    lx_close(fd);
    text[size > 0 ? size : 0] = 0;
    return size > 0;
}

BOOL memory_read(struct node_memory *memory)
{
    char limit[64], usage[64], stat[NODE_MEMORY_FILE];

    return read_file(NODE_MEMORY "limit", limit, sizeof(limit)) &&
           read_file(NODE_MEMORY "usage", usage, sizeof(usage)) && read_file(NODE_MEMORY "stat", stat, sizeof(stat)) &&
           node_memory_parse(memory, limit, usage, stat);
}

void memory_correct(ULONG class, void *information, ULONG size)
{
    struct node_memory memory;

    if (class == BASIC && size >= sizeof(struct basic) && memory_read(&memory))
    {
        struct basic *basic = information;

        basic->pages = (ULONG)(memory.total >> PAGE_BITS);
        basic->highest = basic->lowest + basic->pages;
    }
    else if (class == PERFORMANCE && size >= sizeof(struct performance) && memory_read(&memory))
    {
        struct performance *performance = information;

        performance->available = (ULONG)(memory.available >> PAGE_BITS);
        performance->limit = (ULONG)(memory.total >> PAGE_BITS);
        performance->committed = performance->peak = performance->limit - performance->available;
    }
}

/* Whether so much more can be committed; it is looked at now and then. */
static BOOL is_too_much(SIZE_T size)
{
    struct node_memory memory;

    if (size < STEP && (InterlockedExchangeAdd64(&asked, (LONG64)size) + (LONG64)size < STEP || size < SMALL))
        return FALSE;
    InterlockedExchange64(&asked, 0);
    if (!memory_read(&memory) || (memory.available >= KEPT && memory.available - KEPT >= size))
        return FALSE;
    InterlockedExchange64(&asked, STEP); /* the next is looked at again */
    return TRUE;
}

static NTSTATUS WINAPI hook_NtAllocateVirtualMemory(HANDLE process, void **address, ULONG_PTR zero_bits, SIZE_T *size,
                                                    ULONG type, ULONG protection)
{
    if (size && (type & MEM_COMMIT) && ((limited && is_too_much(*size)) || commit_is_too_much(*size)))
        return COMMITMENT_LIMIT;
    return original_allocate(process, address, zero_bits, size, type, protection);
}

static BOOL is_there(const char *path)
{
    int fd = lx_openat(LX_AT_FDCWD, path, LX_O_PATH | LX_O_CLOEXEC);

    if (fd < 0)
        return FALSE;
    lx_close(fd);
    return TRUE;
}

BOOL memory_start(void)
{
    limited = is_there(NODE_MEMORY "limit");
    if (is_there(CONTAINER) && (limited || job_memory_limit()))
        patch_function(GetModuleHandleW(L"ntdll.dll"), "NtAllocateVirtualMemory", hook_NtAllocateVirtualMemory,
                       (void **)&original_allocate);
    return limited;
}
