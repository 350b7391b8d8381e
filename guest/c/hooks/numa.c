/*
 * NUMA nodes: GetNumaAvailableMemoryNodeEx, and GetNumaNodeProcessorMask2 as GetProcAddress finds it.
 *
 * Facts (Wine 8.0 and 10.0): the first is there and refused with ERROR_CALL_NOT_IMPLEMENTED, the second is not there. A
 * kubelet from v1.37 on asks for the first on every node (k8s.io/kubernetes v1.37.1,
 * pkg/kubelet/winstats/cpu_topology.go), and ends if it wants the second and does not find it. Linux says in /sys how
 * much memory a node has free.
 */
#include "hooks.h"
#include "linux.h"
#include "memory.h"
#include "numa.h"
#include "topology.h"

/* Appends a number to a text. */
static char *digits(char *to, unsigned number)
{
    char reversed[8];
    int n = 0;

    do
        reversed[n++] = (char)('0' + number % 10);
    while ((number /= 10) && n < (int)sizeof(reversed));
    while (n)
        *to++ = reversed[--n];
    return to;
}

/* Finds "MemFree:  123 kB" in a node's meminfo; FALSE without it. */
static BOOL free_bytes(const char *text, ULONGLONG *bytes)
{
    static const char name[] = "MemFree:";

    for (; *text; text++)
    {
        if (memcmp(text, name, sizeof(name) - 1))
            continue;
        text += sizeof(name) - 1;
        while (*text == ' ')
            text++;
        for (*bytes = 0; *text >= '0' && *text <= '9'; text++)
            *bytes = *bytes * 10 + (ULONGLONG)(*text - '0');
        *bytes *= 1024;
        return TRUE;
    }
    return FALSE;
}

static BOOL node_free(USHORT node, ULONGLONG *bytes)
{
    static const char head[] = "/sys/devices/system/node/node", tail[] = "/meminfo";
    char path[sizeof(head) + sizeof(tail) + 8], text[1024];
    INT64 size;
    int fd;

    memcpy(path, head, sizeof(head));
    memcpy(digits(path + sizeof(head) - 1, node), tail, sizeof(tail));
    if ((fd = lx_openat(LX_AT_FDCWD, path, LX_O_RDONLY | LX_O_CLOEXEC)) < 0)
        return FALSE;
    size = lx_read(fd, text, sizeof(text) - sizeof("MemFree:")); /* the search looks as far ahead */
    lx_close(fd);
    if (size <= 0)
        return FALSE;
    memset(text + size, 0, sizeof(text) - (SIZE_T)size);
    return free_bytes(text, bytes);
}

static BOOL WINAPI hook_GetNumaAvailableMemoryNodeEx(USHORT node, ULONGLONG *bytes)
{
    MEMORYSTATUSEX memory = {.dwLength = sizeof(memory)};
    struct node_memory own;
    struct topology shown;
    ULONG highest = 0, nodes = 0;

    /*
     * of the nodes that a host shows, each has its part of all; so has each of the machine's, where there is less
     * memory than that has
     */
    if (topology_read(&shown))
        nodes = shown.sockets;
    else if (memory_read(&own) && GetNumaHighestNodeNumber(&highest))
        nodes = highest + 1;
    if (nodes)
    {
        if (node < nodes && GlobalMemoryStatusEx(&memory))
        {
            *bytes = memory.ullAvailPhys / nodes;
            return TRUE;
        }
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    if (node_free(node, bytes))
        return TRUE;
    /* without /sys, or on a kernel without NUMA, a machine of one node has it all there */
    if (GetNumaHighestNodeNumber(&highest) && node <= highest && !highest && GlobalMemoryStatusEx(&memory))
    {
        *bytes = memory.ullAvailPhys;
        return TRUE;
    }
    SetLastError(ERROR_INVALID_PARAMETER);
    return FALSE;
}

/* A node of what GetLogicalProcessorInformationEx says, NULL without one. */
static const NUMA_NODE_RELATIONSHIP *find_node(const BYTE *at, DWORD size, USHORT node)
{
    const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *info;
    const DWORD least = FIELD_OFFSET(SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX, NumaNode) +
                        sizeof(NUMA_NODE_RELATIONSHIP);

    for (; size >= least; at += info->Size, size -= info->Size) /* a record is as long as its kind wants */
    {
        info = (const void *)at;
        if (info->Size < least || info->Size > size)
            return NULL;
        if (info->Relationship == RelationNumaNode && info->NumaNode.NodeNumber == node)
            return &info->NumaNode;
    }
    return NULL;
}

/*
 * GetNumaNodeProcessorMask2 of Windows Server 2022 and later, which has no original
 * (https://learn.microsoft.com/windows/win32/api/systemtopologyapi/nf-systemtopologyapi-getnumanodeprocessormask2).
 * Wine has no node with processors of two groups.
 */
static BOOL WINAPI numa_node_processor_mask2(USHORT node, GROUP_AFFINITY *masks, USHORT count, USHORT *required)
{
    const NUMA_NODE_RELATIONSHIP *found;
    DWORD size = 0, error = ERROR_INVALID_PARAMETER;
    void *buffer;

    if (!required || (count && !masks))
    {
        SetLastError(error);
        return FALSE;
    }
    *required = 0;
    if (GetLogicalProcessorInformationEx(RelationNumaNode, NULL, &size) ||
        GetLastError() != ERROR_INSUFFICIENT_BUFFER || !(buffer = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, size)))
        return FALSE;
    if (GetLogicalProcessorInformationEx(RelationNumaNode, buffer, &size) && (found = find_node(buffer, size, node)))
    {
        *required = 1;
        error = count ? ERROR_SUCCESS : ERROR_INSUFFICIENT_BUFFER;
        if (count)
            masks[0] = found->GroupMask;
    }
    HeapFree(GetProcessHeap(), 0, buffer);
    if (error)
        SetLastError(error);
    return !error;
}

void *numa_address(HMODULE module, const char *name, unsigned length)
{
    static const char wanted[] = "GetNumaNodeProcessorMask2";

    if (length != sizeof(wanted) - 1 || memcmp(name, wanted, length))
        return NULL;
    if (module != GetModuleHandleW(L"kernel32.dll") && module != GetModuleHandleW(L"kernelbase.dll"))
        return NULL;
    return (void *)numa_node_processor_mask2;
}

/* Wine's own stays if it does something. */
void numa_start(void)
{
    DWORD error = GetLastError();
    ULONGLONG bytes;

    if (!GetNumaAvailableMemoryNodeEx(0, &bytes) && GetLastError() == ERROR_CALL_NOT_IMPLEMENTED)
        patch_replace(GetModuleHandleW(L"kernel32.dll"), "GetNumaAvailableMemoryNodeEx",
                      hook_GetNumaAvailableMemoryNodeEx);
    SetLastError(error);
}
