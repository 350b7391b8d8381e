/*
 * The processors that a host shows: NtQuerySystemInformationEx, GetNumaHighestNodeNumber.
 *
 * A node of cluster.yaml may have other processors than the machine, so that the kubelet's CPU, memory and topology
 * managers can be tried anywhere. The file TOPOLOGY on the host's C: says how many: sockets, which are NUMA nodes too,
 * cores of each, threads of each core; at most 64 together, which is one processor group. Without the file Wine's own
 * answer stays, but where it knows nothing: it reads /sys, which containers do not have; there the processors that it
 * counts are the cores of one socket. Facts (Wine 8.0 to 10.0, dlls/kernelbase/memory.c, dlls/kernel32/process.c):
 * GetLogicalProcessorInformationEx, GetActiveProcessorCount and their like ask NtQuerySystemInformationEx,
 * GetLogicalProcessorInformation NtQuerySystemInformation (session.c); GetNumaHighestNodeNumber says 0. Layouts:
 * https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-system_logical_processor_information_ex.
 */
#include <string.h>

#include "hooks.h"
#include "linux.h"
#include "path.h"
#include "topology.h"

#define TOPOLOGY "/c:/ProgramData/Mullion/processors"
#define LOGICAL_PROCESSORS 73     /* SystemLogicalProcessorInformation */
#define LOGICAL_PROCESSORS_EX 107 /* SystemLogicalProcessorInformationEx */
#define MOST 64

typedef NTSTATUS(WINAPI *query_system)(ULONG, void *, ULONG, void *, ULONG, ULONG *);

static query_system original_query;
static BOOL(WINAPI *original_highest)(ULONG *);

static const char *number(const char *text, unsigned *value)
{
    while (*text == ' ')
        text++;
    for (*value = 0; *text >= '0' && *text <= '9' && *value <= MOST; text++)
        *value = *value * 10 + (unsigned)(*text - '0');
    return text;
}

BOOL topology_read(struct topology *shown)
{
    char path[LINUX_PATH_MAX + sizeof(TOPOLOGY)], text[64];
    const char *devices = path_of_devices();
    SIZE_T length = strlen(devices);
    INT64 size;
    int fd;

    if (!length)
        return FALSE;
    memcpy(path, devices, length);
    memcpy(path + length, TOPOLOGY, sizeof(TOPOLOGY));
    if ((fd = lx_openat(LX_AT_FDCWD, path, LX_O_RDONLY | LX_O_NONBLOCK | LX_O_CLOEXEC)) < 0)
        return FALSE;
    size = lx_read(fd, text, sizeof(text) - 1);
    lx_close(fd);
    text[size > 0 ? size : 0] = 0;
    number(number(number(text, &shown->sockets), &shown->cores), &shown->threads);
    return shown->sockets && shown->cores && shown->threads && shown->sockets <= MOST && shown->cores <= MOST &&
           shown->threads <= MOST && shown->sockets * shown->cores * shown->threads <= MOST;
}

/* Where records are written; what has no room is only counted. */
struct out
{
    BYTE *at;
    ULONG room, used;
};

static void add(struct out *out, const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *record)
{
    if (out->used + record->Size <= out->room)
        memcpy(out->at + out->used, record, record->Size);
    out->used += record->Size;
}

static KAFFINITY mask_of(unsigned first, unsigned count)
{
    return (count < MOST ? ((KAFFINITY)1 << count) - 1 : ~(KAFFINITY)0) << first;
}

/* Adds a record for each run of count processors, if that kind is asked for. */
static void add_runs(struct out *out, ULONG asked, ULONG kind, unsigned all, unsigned count, BYTE flags)
{
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX record;

    for (unsigned first = 0; (asked == RelationAll || asked == kind) && first < all; first += count)
    {
        memset(&record, 0, sizeof(record));
        record.Relationship = kind;
        record.Size = FIELD_OFFSET(SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX, Processor) + sizeof(record.Processor);
        if (kind == RelationNumaNode)
        {
            record.NumaNode.NodeNumber = first / count;
            record.NumaNode.GroupMask.Mask = mask_of(first, count);
        }
        else
        {
            record.Processor.Flags = flags;
            record.Processor.GroupCount = 1;
            record.Processor.GroupMask[0].Mask = mask_of(first, count);
        }
        add(out, &record);
    }
}

static void add_group(struct out *out, ULONG asked, unsigned all)
{
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX record;

    if (asked != RelationAll && asked != RelationGroup)
        return;
    memset(&record, 0, sizeof(record));
    record.Relationship = RelationGroup;
    record.Size = FIELD_OFFSET(SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX, Group) + sizeof(record.Group);
    record.Group.MaximumGroupCount = record.Group.ActiveGroupCount = 1;
    record.Group.GroupInfo[0].MaximumProcessorCount = record.Group.GroupInfo[0].ActiveProcessorCount = (BYTE)all;
    record.Group.GroupInfo[0].ActiveProcessorMask = mask_of(0, all);
    add(out, &record);
}

/* The processors that are shown: the host's own, or those that Wine counts if it does not know more of them. */
static BOOL shown_for(NTSTATUS wines, struct topology *shown)
{
    SYSTEM_INFO system;

    if (topology_read(shown))
        return TRUE;
    if (wines != STATUS_NOT_IMPLEMENTED && wines != STATUS_NOT_SUPPORTED)
        return FALSE;
    GetSystemInfo(&system);
    shown->sockets = shown->threads = 1;
    shown->cores = min(max(system.dwNumberOfProcessors, 1), MOST);
    return TRUE;
}

/* Adds the older record of each run of count processors. */
static void add_older(struct out *out, ULONG kind, unsigned all, unsigned count, BYTE flags)
{
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION record;

    for (unsigned first = 0; first < all; first += count)
    {
        memset(&record, 0, sizeof(record));
        record.ProcessorMask = mask_of(first, count);
        record.Relationship = kind;
        if (kind == RelationNumaNode)
            record.NumaNode.NodeNumber = first / count;
        else if (kind == RelationProcessorCore)
            record.ProcessorCore.Flags = flags;
        if (out->used + sizeof(record) <= out->room)
            memcpy(out->at + out->used, &record, sizeof(record));
        out->used += sizeof(record);
    }
}

BOOL topology_list(ULONG class, NTSTATUS wines, void *information, ULONG size, ULONG *returned, NTSTATUS *status)
{
    struct out out = {information, information ? size : 0, 0};
    struct topology shown;
    unsigned all;

    if (class != LOGICAL_PROCESSORS || !shown_for(wines, &shown))
        return FALSE;
    all = shown.sockets * shown.cores * shown.threads;
    add_older(&out, RelationProcessorCore, all, shown.threads, shown.threads > 1 ? LTP_PC_SMT : 0);
    add_older(&out, RelationNumaNode, all, shown.cores * shown.threads, 0);
    add_older(&out, RelationProcessorPackage, all, shown.cores * shown.threads, 0);
    if (returned)
        *returned = out.used;
    *status = out.used <= out.room ? STATUS_SUCCESS : STATUS_INFO_LENGTH_MISMATCH;
    return TRUE;
}

static NTSTATUS WINAPI hook_NtQuerySystemInformationEx(ULONG class, void *query, ULONG query_size, void *information,
                                                       ULONG size, ULONG *returned)
{
    struct out out = {information, information ? size : 0, 0};
    struct topology shown;
    NTSTATUS status = original_query(class, query, query_size, information, size, returned);
    unsigned all;
    ULONG asked;

    if (class != LOGICAL_PROCESSORS_EX || !query || query_size < sizeof(asked) || !shown_for(status, &shown))
        return status;
    memcpy(&asked, query, sizeof(asked));
    all = shown.sockets * shown.cores * shown.threads;
    add_runs(&out, asked, RelationProcessorCore, all, shown.threads, shown.threads > 1 ? LTP_PC_SMT : 0);
    add_runs(&out, asked, RelationNumaNode, all, shown.cores * shown.threads, 0);
    add_runs(&out, asked, RelationProcessorPackage, all, shown.cores * shown.threads, 0);
    add_group(&out, asked, all);
    if (returned)
        *returned = out.used;
    return out.used <= out.room ? STATUS_SUCCESS : STATUS_INFO_LENGTH_MISMATCH;
}

static BOOL WINAPI hook_GetNumaHighestNodeNumber(ULONG *node)
{
    struct topology shown;

    if (!node || !topology_read(&shown))
        return original_highest(node);
    *node = shown.sockets - 1;
    return TRUE;
}

void topology_start(void)
{
    patch_function(GetModuleHandleW(L"ntdll.dll"), "NtQuerySystemInformationEx", hook_NtQuerySystemInformationEx,
                   (void **)&original_query);
    patch_function(GetModuleHandleW(L"kernelbase.dll"), "GetNumaHighestNodeNumber", hook_GetNumaHighestNodeNumber,
                   (void **)&original_highest);
}
