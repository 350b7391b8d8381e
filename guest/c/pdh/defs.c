/*
 * The counters. Names and types are those of Windows Server 2022, English; the types are in the classes
 * Win32_PerfRawData_… of https://learn.microsoft.com/windows/win32/cimwin32prov/win32-perfrawdata and in winperf.h.
 * Those that kubelet v1.36.3 asks for are in pkg/kubelet/winstats/{perfcounters,network_stats}.go, those of
 * windows_exporter v0.30.8 in internal/collector/<name>/types.go.
 *
 * Committed Bytes is the memory in use, MemTotal - MemAvailable plus used swap: Linux counts as committed what programs
 * have asked for and may never touch (Committed_AS), which under Wine is several times the machine's memory and would
 * make the kubelet evict everything. Working Set - Private of all processes is AnonPages: resident pages that belong to
 * one process alone. Standby Cache is what makes Available Bytes out of the free pages. Nonpaged pool is what the
 * kernel keeps for itself (slabs that it cannot give back, page tables, stacks), paged pool the slabs that it can give
 * back; pages swapped are those that go to and come from swap.
 *
 * On a node that has a part of the machine's memory all these are the node's (common/nodememory.h), but for those of
 * paging.
 *
 * % DPC Time and DPCs are Linux' software interrupts. % Processor Utility is the time that a processor works, as on one
 * that always runs at its nominal frequency: Linux does not say how fast it ran.
 */
#include "counters.h"

#include <pdhmsg.h>
#include <winperf.h>

/* clang-format off */
enum object
{
    PROCESSOR, PROCESSOR_INFORMATION, MEMORY, NETWORK_INTERFACE, NETWORK_ADAPTER, SYSTEM, PROCESS, PROCESS_V2,
    LOGICAL_DISK, PHYSICAL_DISK
};
/* clang-format on */

static const struct object_def objects[] = {
    [PROCESSOR] = {L"Processor", SOURCE_PROCESSOR, TRUE},
    [PROCESSOR_INFORMATION] = {L"Processor Information", SOURCE_PROCESSOR_INFORMATION, TRUE},
    [MEMORY] = {L"Memory", SOURCE_MEMORY, FALSE},
    [NETWORK_INTERFACE] = {L"Network Interface", SOURCE_NETWORK, TRUE},
    [NETWORK_ADAPTER] = {L"Network Adapter", SOURCE_NETWORK, TRUE},
    [SYSTEM] = {L"System", SOURCE_SYSTEM, FALSE},
    [PROCESS] = {L"Process", SOURCE_PROCESS, TRUE},
    [PROCESS_V2] = {L"Process V2", SOURCE_PROCESS_V2, TRUE},
    [LOGICAL_DISK] = {L"LogicalDisk", SOURCE_VOLUME, TRUE},
    [PHYSICAL_DISK] = {L"PhysicalDisk", SOURCE_DISK, TRUE},
};

/* clang-format off */
/* Counters that two objects have; the object is their first argument. */
#define PROCESSOR_COUNTERS(object) \
    {&objects[object], L"% Processor Time", PERF_100NSEC_TIMER_INV, CPU_IDLE, CPU_ALL}, \
    {&objects[object], L"% Idle Time", PERF_PRECISION_100NS_TIMER, CPU_IDLE, CPU_ALL}, \
    {&objects[object], L"% User Time", PERF_100NSEC_TIMER, CPU_USER, CPU_ALL}, \
    {&objects[object], L"% Privileged Time", PERF_100NSEC_TIMER, CPU_KERNEL, CPU_ALL}, \
    {&objects[object], L"% Interrupt Time", PERF_100NSEC_TIMER, CPU_INTERRUPT, CPU_ALL}, \
    {&objects[object], L"% DPC Time", PERF_100NSEC_TIMER, CPU_DPC, CPU_ALL}, \
    {&objects[object], L"% C1 Time", PERF_100NSEC_TIMER, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"% C2 Time", PERF_100NSEC_TIMER, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"% C3 Time", PERF_100NSEC_TIMER, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"C1 Transitions/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"C2 Transitions/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"C3 Transitions/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"Interrupts/sec", PERF_COUNTER_COUNTER, CPU_INTERRUPTS, BASE_TIME}, \
    {&objects[object], L"DPCs Queued/sec", PERF_COUNTER_COUNTER, CPU_DPCS, BASE_TIME}, \
    {&objects[object], L"DPC Rate", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE}

#define NETWORK_COUNTERS(object) \
    {&objects[object], L"Bytes Received/sec", PERF_COUNTER_BULK_COUNT, NET_RX_BYTES, BASE_TIME}, \
    {&objects[object], L"Bytes Sent/sec", PERF_COUNTER_BULK_COUNT, NET_TX_BYTES, BASE_TIME}, \
    {&objects[object], L"Bytes Total/sec", PERF_COUNTER_BULK_COUNT, NET_BYTES, BASE_TIME}, \
    {&objects[object], L"Packets Received/sec", PERF_COUNTER_BULK_COUNT, NET_RX_PACKETS, BASE_TIME}, \
    {&objects[object], L"Packets Sent/sec", PERF_COUNTER_BULK_COUNT, NET_TX_PACKETS, BASE_TIME}, \
    {&objects[object], L"Packets/sec", PERF_COUNTER_BULK_COUNT, NET_PACKETS, BASE_TIME}, \
    {&objects[object], L"Packets Received Discarded", PERF_COUNTER_LARGE_RAWCOUNT, NET_RX_DROPPED, FIELD_NONE}, \
    {&objects[object], L"Packets Received Errors", PERF_COUNTER_LARGE_RAWCOUNT, NET_RX_ERRORS, FIELD_NONE}, \
    {&objects[object], L"Packets Received Unknown", PERF_COUNTER_LARGE_RAWCOUNT, FIELD_NONE, FIELD_NONE}, \
    {&objects[object], L"Packets Outbound Discarded", PERF_COUNTER_LARGE_RAWCOUNT, NET_TX_DROPPED, FIELD_NONE}, \
    {&objects[object], L"Packets Outbound Errors", PERF_COUNTER_LARGE_RAWCOUNT, NET_TX_ERRORS, FIELD_NONE}, \
    {&objects[object], L"Current Bandwidth", PERF_COUNTER_LARGE_RAWCOUNT, NET_BANDWIDTH, FIELD_NONE}, \
    /* 0 as on Windows, where NDIS queues */ \
    {&objects[object], L"Output Queue Length", PERF_COUNTER_LARGE_RAWCOUNT, FIELD_ZERO, FIELD_NONE}

#define PROCESS_COUNTERS(object, id) \
    {&objects[object], L"% Processor Time", PERF_100NSEC_TIMER, PROCESS_TIME, BASE_TIME}, \
    {&objects[object], L"% Privileged Time", PERF_100NSEC_TIMER, PROCESS_KERNEL, BASE_TIME}, \
    {&objects[object], L"% User Time", PERF_100NSEC_TIMER, PROCESS_USER, BASE_TIME}, \
    {&objects[object], id, PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_ID, FIELD_NONE}, \
    {&objects[object], L"Creating Process ID", PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_PARENT, FIELD_NONE}, \
    {&objects[object], L"Elapsed Time", PERF_ELAPSED_TIME, PROCESS_START, BASE_TIME}, \
    {&objects[object], L"Handle Count", PERF_COUNTER_RAWCOUNT, PROCESS_HANDLES, FIELD_NONE}, \
    {&objects[object], L"Thread Count", PERF_COUNTER_RAWCOUNT, PROCESS_THREADS, FIELD_NONE}, \
    {&objects[object], L"Priority Base", PERF_COUNTER_RAWCOUNT, PROCESS_PRIORITY, FIELD_NONE}, \
    {&objects[object], L"Virtual Bytes", PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_VIRTUAL, FIELD_NONE}, \
    {&objects[object], L"Virtual Bytes Peak", PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_VIRTUAL_PEAK, FIELD_NONE}, \
    {&objects[object], L"Working Set", PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_WORKING_SET, FIELD_NONE}, \
    {&objects[object], L"Working Set Peak", PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_WORKING_SET_PEAK, FIELD_NONE}, \
    {&objects[object], L"Working Set - Private", PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_WORKING_SET_PRIVATE, \
     FIELD_NONE}, \
    {&objects[object], L"Private Bytes", PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_PRIVATE, FIELD_NONE}, \
    {&objects[object], L"Page File Bytes", PERF_COUNTER_LARGE_RAWCOUNT, PROCESS_PRIVATE, FIELD_NONE}, \
    {&objects[object], L"Page File Bytes Peak", PERF_COUNTER_LARGE_RAWCOUNT, FIELD_NONE, FIELD_NONE}, \
    {&objects[object], L"Page Faults/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"Pool Paged Bytes", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE}, \
    {&objects[object], L"Pool Nonpaged Bytes", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE}, \
    {&objects[object], L"IO Data Bytes/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"IO Data Operations/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"IO Other Bytes/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"IO Other Operations/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"IO Read Bytes/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"IO Read Operations/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"IO Write Bytes/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}, \
    {&objects[object], L"IO Write Operations/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME}

#define DISK_COUNTERS(object) \
    {&objects[object], L"Current Disk Queue Length", PERF_COUNTER_RAWCOUNT, DISK_QUEUE, FIELD_NONE}, \
    {&objects[object], L"Disk Reads/sec", PERF_COUNTER_COUNTER, DISK_READS, BASE_TIME}, \
    {&objects[object], L"Disk Read Bytes/sec", PERF_COUNTER_BULK_COUNT, DISK_READ_BYTES, BASE_TIME}, \
    {&objects[object], L"Disk Writes/sec", PERF_COUNTER_COUNTER, DISK_WRITES, BASE_TIME}, \
    {&objects[object], L"Disk Write Bytes/sec", PERF_COUNTER_BULK_COUNT, DISK_WRITE_BYTES, BASE_TIME}, \
    {&objects[object], L"Disk Transfers/sec", PERF_COUNTER_COUNTER, DISK_TRANSFERS, BASE_TIME}, \
    {&objects[object], L"Disk Bytes/sec", PERF_COUNTER_BULK_COUNT, DISK_BYTES, BASE_TIME}, \
    {&objects[object], L"% Disk Read Time", PERF_PRECISION_100NS_TIMER, DISK_READ_TIME, BASE_TIME}, \
    {&objects[object], L"% Disk Write Time", PERF_PRECISION_100NS_TIMER, DISK_WRITE_TIME, BASE_TIME}, \
    {&objects[object], L"% Disk Time", PERF_PRECISION_100NS_TIMER, DISK_TRANSFER_TIME, BASE_TIME}, \
    {&objects[object], L"% Idle Time", PERF_PRECISION_100NS_TIMER, DISK_IDLE, BASE_TIME}, \
    {&objects[object], L"Avg. Disk sec/Read", PERF_AVERAGE_TIMER, DISK_READ_TIME, DISK_READS}, \
    {&objects[object], L"Avg. Disk sec/Write", PERF_AVERAGE_TIMER, DISK_WRITE_TIME, DISK_WRITES}, \
    {&objects[object], L"Avg. Disk sec/Transfer", PERF_AVERAGE_TIMER, DISK_TRANSFER_TIME, DISK_TRANSFERS}, \
    {&objects[object], L"Avg. Disk Bytes/Read", PERF_AVERAGE_BULK, DISK_READ_BYTES, DISK_READS}, \
    {&objects[object], L"Avg. Disk Bytes/Write", PERF_AVERAGE_BULK, DISK_WRITE_BYTES, DISK_WRITES}, \
    {&objects[object], L"Avg. Disk Bytes/Transfer", PERF_AVERAGE_BULK, DISK_BYTES, DISK_TRANSFERS}, \
    {&objects[object], L"Avg. Disk Read Queue Length", PERF_COUNTER_100NS_QUEUELEN_TYPE, DISK_READ_TIME, BASE_TIME}, \
    {&objects[object], L"Avg. Disk Write Queue Length", PERF_COUNTER_100NS_QUEUELEN_TYPE, DISK_WRITE_TIME, BASE_TIME}, \
    {&objects[object], L"Avg. Disk Queue Length", PERF_COUNTER_100NS_QUEUELEN_TYPE, DISK_TRANSFER_TIME, BASE_TIME}, \
    {&objects[object], L"Split IO/Sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME}

static const struct counter_def counters[] = {
    PROCESSOR_COUNTERS(PROCESSOR),
    PROCESSOR_COUNTERS(PROCESSOR_INFORMATION),
    {&objects[PROCESSOR_INFORMATION], L"% Priority Time", PERF_100NSEC_TIMER, CPU_PRIORITY, CPU_ALL},
    {&objects[PROCESSOR_INFORMATION], L"% Processor Utility", PERF_AVERAGE_BULK, CPU_WORK, CPU_PERCENT_BASE},
    {&objects[PROCESSOR_INFORMATION], L"% Privileged Utility", PERF_AVERAGE_BULK, CPU_KERNEL_WORK, CPU_PERCENT_BASE},
    {&objects[PROCESSOR_INFORMATION], L"% Processor Performance", PERF_AVERAGE_BULK, FIELD_NONE, FIELD_NONE},
    {&objects[PROCESSOR_INFORMATION], L"% Performance Limit", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[PROCESSOR_INFORMATION], L"Processor Frequency", PERF_COUNTER_RAWCOUNT, CPU_MHZ, FIELD_NONE},
    /* Linux parks no processor */
    {&objects[PROCESSOR_INFORMATION], L"Parking Status", PERF_COUNTER_RAWCOUNT, FIELD_ZERO, FIELD_NONE},
    {&objects[PROCESSOR_INFORMATION], L"Clock Interrupts/sec", PERF_COUNTER_COUNTER, CPU_CLOCK_INTERRUPTS, BASE_TIME},
    {&objects[PROCESSOR_INFORMATION], L"Idle Break Events/sec", PERF_COUNTER_BULK_COUNT, FIELD_NONE, BASE_TIME},

    {&objects[MEMORY], L"Committed Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_COMMITTED, FIELD_NONE},
    {&objects[MEMORY], L"Commit Limit", PERF_COUNTER_LARGE_RAWCOUNT, MEM_LIMIT, FIELD_NONE},
    {&objects[MEMORY], L"% Committed Bytes In Use", PERF_RAW_FRACTION, MEM_COMMITTED, MEM_LIMIT},
    {&objects[MEMORY], L"Available Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_AVAILABLE, FIELD_NONE},
    {&objects[MEMORY], L"Available KBytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_AVAILABLE_KB, FIELD_NONE},
    {&objects[MEMORY], L"Available MBytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_AVAILABLE_MB, FIELD_NONE},
    {&objects[MEMORY], L"Cache Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_CACHE, FIELD_NONE},
    {&objects[MEMORY], L"Cache Bytes Peak", PERF_COUNTER_LARGE_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"System Cache Resident Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_CACHE, FIELD_NONE},
    {&objects[MEMORY], L"Free & Zero Page List Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_UNUSED, FIELD_NONE},
    {&objects[MEMORY], L"Modified Page List Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_MODIFIED, FIELD_NONE},
    {&objects[MEMORY], L"Standby Cache Normal Priority Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_STANDBY, FIELD_NONE},
    {&objects[MEMORY], L"Standby Cache Core Bytes", PERF_COUNTER_LARGE_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"Standby Cache Reserve Bytes", PERF_COUNTER_LARGE_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"Pool Nonpaged Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_NONPAGED, FIELD_NONE},
    {&objects[MEMORY], L"Pool Nonpaged Allocs", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"Pool Paged Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_PAGED, FIELD_NONE},
    {&objects[MEMORY], L"Pool Paged Resident Bytes", PERF_COUNTER_LARGE_RAWCOUNT, MEM_PAGED, FIELD_NONE},
    {&objects[MEMORY], L"Pool Paged Allocs", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"Page Faults/sec", PERF_COUNTER_COUNTER, MEM_FAULTS, BASE_TIME},
    {&objects[MEMORY], L"Page Reads/sec", PERF_COUNTER_COUNTER, MEM_READS, BASE_TIME},
    {&objects[MEMORY], L"Page Writes/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME},
    {&objects[MEMORY], L"Pages/sec", PERF_COUNTER_COUNTER, MEM_SWAPPED, BASE_TIME},
    {&objects[MEMORY], L"Pages Input/sec", PERF_COUNTER_COUNTER, MEM_SWAPPED_IN, BASE_TIME},
    {&objects[MEMORY], L"Pages Output/sec", PERF_COUNTER_COUNTER, MEM_SWAPPED_OUT, BASE_TIME},
    {&objects[MEMORY], L"Cache Faults/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME},
    {&objects[MEMORY], L"Demand Zero Faults/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME},
    {&objects[MEMORY], L"Transition Faults/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME},
    {&objects[MEMORY], L"Transition Pages RePurposed/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME},
    {&objects[MEMORY], L"Write Copies/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME},
    {&objects[MEMORY], L"Free System Page Table Entries", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"System Code Resident Bytes", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"System Code Total Bytes", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"System Driver Resident Bytes", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE},
    {&objects[MEMORY], L"System Driver Total Bytes", PERF_COUNTER_RAWCOUNT, FIELD_NONE, FIELD_NONE},

    NETWORK_COUNTERS(NETWORK_INTERFACE),
    NETWORK_COUNTERS(NETWORK_ADAPTER),

    {&objects[SYSTEM], L"System Up Time", PERF_ELAPSED_TIME, SYS_BOOT, BASE_TIME},
    {&objects[SYSTEM], L"Processes", PERF_COUNTER_RAWCOUNT, SYS_PROCESSES, FIELD_NONE},
    {&objects[SYSTEM], L"Threads", PERF_COUNTER_RAWCOUNT, SYS_THREADS, FIELD_NONE},
    {&objects[SYSTEM], L"Processor Queue Length", PERF_COUNTER_RAWCOUNT, SYS_QUEUE, FIELD_NONE},
    {&objects[SYSTEM], L"Context Switches/sec", PERF_COUNTER_COUNTER, SYS_SWITCHES, BASE_TIME},
    {&objects[SYSTEM], L"Exception Dispatches/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME},
    {&objects[SYSTEM], L"System Calls/sec", PERF_COUNTER_COUNTER, FIELD_NONE, BASE_TIME},

    PROCESS_COUNTERS(PROCESS, L"ID Process"),
    PROCESS_COUNTERS(PROCESS_V2, L"Process ID"),

    DISK_COUNTERS(LOGICAL_DISK),
    {&objects[LOGICAL_DISK], L"Free Megabytes", PERF_COUNTER_RAWCOUNT, DISK_FREE_MB, FIELD_NONE},
    {&objects[LOGICAL_DISK], L"% Free Space", PERF_RAW_FRACTION, DISK_FREE_MB, DISK_SIZE_MB},
    DISK_COUNTERS(PHYSICAL_DISK),
};
/* clang-format on */

enum
{
    OBJECTS = sizeof(objects) / sizeof(objects[0]),
    COUNTERS = sizeof(counters) / sizeof(counters[0]),
};

const struct object_def *pdh_object_at(int index)
{
    return index < OBJECTS ? &objects[index] : NULL;
}

const struct counter_def *pdh_counter_at(int index)
{
    return index < COUNTERS ? &counters[index] : NULL;
}

const struct object_def *pdh_find_object(const WCHAR *name)
{
    for (int i = 0; i < OBJECTS; i++)
        if (pdh_same_name(objects[i].name, name))
            return &objects[i];
    return NULL;
}

const struct counter_def *pdh_find_counter(const WCHAR *object, const WCHAR *counter, LONG *status)
{
    const struct object_def *of = pdh_find_object(object);

    *status = (LONG)(of ? PDH_CSTATUS_NO_COUNTER : PDH_CSTATUS_NO_OBJECT);
    for (int i = 0; of && i < COUNTERS; i++)
        if (counters[i].object == of && pdh_same_name(counters[i].name, counter))
        {
            *status = 0;
            return &counters[i];
        }
    return NULL;
}
