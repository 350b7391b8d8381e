/* Measures the sources: reads the texts of /proc and /sys, the processes and the drives. */
#include "counters.h"
#include "linux.h"
#include "nodememory.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <winternl.h>

#define PROC L"\\\\?\\unix\\proc\\"
#define NODE L"\\\\?\\unix\\run\\mullion-memory\\" /* NODE_MEMORY */

enum
{
    INFORMATION_PROCESSES = 5, /* SystemProcessInformation */
    DRIVES = 26,
};

#define MISMATCH ((NTSTATUS)0xC0000004) /* STATUS_INFO_LENGTH_MISMATCH */

/*
 * A process in the answer of NtQuerySystemInformation:
 * https://learn.microsoft.com/windows/win32/api/winternl/nf-winternl-ntquerysysteminformation
 */
struct process
{
    ULONG next, threads;
    LONGLONG private_working_set;
    ULONG hard_faults, most_threads;
    ULONGLONG cycles;
    LONGLONG start, user, kernel;
    UNICODE_STRING image;
    LONG priority;
    ULONG_PTR id, parent;
    ULONG handles, session;
    ULONG_PTR key;
    SIZE_T most_virtual, virtual;
    ULONG faults;
    SIZE_T most_working_set, working_set, quotas[4], private, most_private; /* private is what could be paged out */
};

/* A text file of Linux, read whole; NULL if it could not be read. The caller frees it. */
static char *read_text(const WCHAR *path)
{
    HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    size_t used = 0, room = 16384;
    char *text;
    DWORD got;

    if (file == INVALID_HANDLE_VALUE)
        return NULL;
    text = malloc(room);
    while (text && ReadFile(file, text + used, (DWORD)(room - used - 1), &got, NULL) && got)
    {
        used += got;
        if (used + 1 < room)
            continue;
        char *more = realloc(text, room *= 2);
        if (!more)
            free(text);
        text = more;
    }
    CloseHandle(file);
    if (text)
        text[used] = 0;
    return text;
}

static LONGLONG read_uptime(void)
{
    char *text = read_text(PROC L"uptime");
    LONGLONG uptime = pdh_parse_uptime(text);

    free(text);
    return uptime;
}

/* In a container /proc/interrupts is empty. */
static BOOL take_processors(struct table *out, BOOL with_group)
{
    char *stat = read_text(PROC L"stat"), *interrupts = read_text(PROC L"interrupts");
    char *softirqs = read_text(PROC L"softirqs"), *cpuinfo = read_text(PROC L"cpuinfo");
    struct processor_texts texts = {stat, interrupts, softirqs, cpuinfo};

    if (stat)
        pdh_parse_processors(out, &texts, with_group);
    free(stat);
    free(interrupts);
    free(softirqs);
    free(cpuinfo);
    return out->count > 0;
}

/* /proc/meminfo, or the same of a node that has a part of the machine's memory. The caller frees it. */
static char *read_meminfo(void)
{
    char *limit = read_text(NODE L"limit"), *usage = limit ? read_text(NODE L"usage") : NULL,
         *stat = usage ? read_text(NODE L"stat") : NULL;
    struct node_memory memory;
    char *text = NULL;

    if (stat && node_memory_parse(&memory, limit, usage, stat) && (text = malloc(NODE_MEMORY_TEXT)))
        node_memory_text(&memory, text);
    free(limit);
    free(usage);
    free(stat);
    return text ? text : read_text(PROC L"meminfo");
}

static BOOL take_memory(struct table *out)
{
    char *meminfo = read_meminfo(), *vmstat = read_text(PROC L"vmstat");
    BOOL ok = meminfo != NULL;

    if (ok)
        pdh_parse_memory(out, meminfo, vmstat);
    free(meminfo);
    free(vmstat);
    return ok;
}

/*
 * What a virtual adapter has: Linux' veth says the same of itself, and a container, which has one, has no /sys to ask.
 */
static LONGLONG bandwidth(const WCHAR *adapter)
{
    WCHAR path[NAME_MAX_CHARS + 64] = L"\\\\?\\unix\\sys\\class\\net\\";
    LONGLONG megabits = 0;
    char *text;

    wcscat(path, adapter);
    wcscat(path, L"\\speed");
    if ((text = read_text(path)))
        megabits = strtoll(text, NULL, 10);
    free(text);
    return (megabits > 0 ? megabits : 10000) * 1000000;
}

static BOOL take_network(struct table *out)
{
    char *dev = read_text(PROC L"net\\dev");
    BOOL ok = dev != NULL;

    if (ok)
        pdh_parse_network(out, dev);
    for (int i = 0; i < out->count; i++)
        pdh_set_field(&out->rows[i], NET_BANDWIDTH, bandwidth(out->rows[i].name));
    free(dev);
    return ok;
}

/* The processes of this Windows; the caller frees them. */
static char *list_processes(void)
{
    ULONG size = 65536, need = 0;
    char *list = NULL;
    NTSTATUS status;

    do
    {
        free(list);
        if (!(list = malloc(size)))
            return NULL;
        status = NtQuerySystemInformation((SYSTEM_INFORMATION_CLASS)INFORMATION_PROCESSES, list, size, &need);
        size = size * 2 > need ? size * 2 : need;
    } while (status == MISMATCH);
    if (status < 0)
    {
        free(list);
        return NULL;
    }
    return list;
}

static const struct process *next_process(const struct process *p)
{
    return p->next ? (const struct process *)((const char *)p + p->next) : NULL;
}

/* The program's name without .exe. */
static void image_name(WCHAR *name, const struct process *p)
{
    size_t length = p->image.Length / sizeof(WCHAR);

    if (length > NAME_MAX_CHARS - 32)
        length = NAME_MAX_CHARS - 32; /* room for a number behind it */
    memcpy(name, p->image.Buffer, length * sizeof(WCHAR));
    name[length] = 0;
    if (length > 4 && pdh_same_name(name + length - 4, L".exe"))
        name[length - 4] = 0;
}

/* Process names its second "app" app#1; Process V2 names each app:<id>. */
static void instance_name(WCHAR *name, const struct process *p, const struct table *table, BOOL with_id)
{
    size_t length;
    unsigned long before = 0;

    image_name(name, p);
    length = wcslen(name);
    if (with_id)
    {
        wcscat(name, L":");
        pdh_number_name(name, name, (unsigned long)p->id);
        return;
    }
    for (int i = 0; i < table->count; i++)
    {
        const WCHAR *other = table->rows[i].name;

        before += !_wcsnicmp(other, name, length) && (!other[length] || other[length] == '#');
    }
    if (!before)
        return;
    wcscat(name, L"#");
    pdh_number_name(name, name, before);
}

/*
 * Wine 8.0 has the class of a priority there, Windows and later versions of Wine the priority itself. Classes that are
 * priorities too stay.
 */
static LONG base_priority(LONG priority)
{
    switch (priority)
    {
    case 1: return 4;  /* PROCESS_PRIOCLASS_IDLE */
    case 2: return 8;  /* PROCESS_PRIOCLASS_NORMAL */
    case 3: return 13; /* PROCESS_PRIOCLASS_HIGH */
    case 5: return 6;  /* PROCESS_PRIOCLASS_BELOW_NORMAL */
    default: return priority;
    }
}

static void set_process(struct row *row, const struct process *p)
{
    pdh_set_field(row, PROCESS_ID, (LONGLONG)p->id);
    pdh_set_field(row, PROCESS_PARENT, (LONGLONG)p->parent);
    pdh_set_field(row, PROCESS_START, p->start);
    pdh_set_field(row, PROCESS_TIME, p->kernel + p->user);
    pdh_set_field(row, PROCESS_KERNEL, p->kernel);
    pdh_set_field(row, PROCESS_USER, p->user);
    pdh_set_field(row, PROCESS_HANDLES, p->handles);
    pdh_set_field(row, PROCESS_THREADS, p->threads);
    pdh_set_field(row, PROCESS_PRIORITY, base_priority(p->priority));
    pdh_set_field(row, PROCESS_VIRTUAL, (LONGLONG)p->virtual);
    pdh_set_field(row, PROCESS_VIRTUAL_PEAK, (LONGLONG)p->most_virtual);
    pdh_set_field(row, PROCESS_WORKING_SET, (LONGLONG)p->working_set);
    pdh_set_field(row, PROCESS_WORKING_SET_PEAK, (LONGLONG)p->most_working_set);
    pdh_set_field(row, PROCESS_WORKING_SET_PRIVATE, (LONGLONG)min(p->private, p->working_set));
    pdh_set_field(row, PROCESS_PRIVATE, (LONGLONG)p->private);
}

/*
 * Sums of all processes but for their private working set, which is the machine's, or the node's, as the kubelet takes
 * it for the node's memory in use.
 */
static void add_total(struct table *out)
{
    struct row *total = pdh_add_row(out, L"_Total");
    char *meminfo;

    for (int i = 0; total && i < out->count - 1; i++)
        for (int f = PROCESS_TIME; f <= PROCESS_PRIVATE; f++)
            pdh_set_field(total, f, total->value[f] + out->rows[i].value[f]);
    if (total)
        total->have &= ~(1u << PROCESS_PRIORITY);
    meminfo = read_meminfo();
    if (meminfo)
        pdh_set_field(total, PROCESS_WORKING_SET_PRIVATE, pdh_anonymous_memory(meminfo));
    free(meminfo);
}

static BOOL take_processes(struct table *out, BOOL with_id)
{
    char *list = list_processes();
    WCHAR name[NAME_MAX_CHARS];

    if (!list)
        return FALSE;
    for (const struct process *p = (const struct process *)list; p; p = next_process(p))
    {
        instance_name(name, p, out, with_id);
        set_process(pdh_add_row(out, name), p);
    }
    free(list);
    add_total(out);
    return TRUE;
}

static BOOL take_system(struct table *out)
{
    char *stat = read_text(PROC L"stat"), *list = list_processes();
    LONGLONG processes = 0, threads = 0;
    BOOL ok = stat && list;

    for (const struct process *p = (const struct process *)list; p; p = next_process(p))
    {
        processes++;
        threads += p->threads;
    }
    if (ok)
        pdh_parse_system(out, stat, read_uptime(), processes, threads);
    free(stat);
    free(list);
    return ok;
}

/* Finds the device of the file system that a drive is on. */
static BOOL device_of(const WCHAR *root, unsigned *major, unsigned *minor)
{
    char *(CDECL * unix_name)(const WCHAR *) = (void *)GetProcAddress(GetModuleHandleW(L"kernel32.dll"),
                                                                      "wine_get_unix_file_name");
    char *path = unix_name ? unix_name(root) : NULL;
    struct lx_stat st = {0};
    BOOL ok = path && lx_fstatat(LX_AT_FDCWD, path, &st, 0) == 0;

    if (path)
        HeapFree(GetProcessHeap(), 0, path);
    *major = (unsigned)(st.dev >> 8 & 0xfff); /* gnu_dev_major of glibc's <sys/sysmacros.h> */
    *minor = (unsigned)((st.dev & 0xff) | (st.dev >> 12 & 0xffffff00));
    return ok && *major; /* a file system without a device has the number 0 */
}

static int take_drives(struct drive *drives)
{
    DWORD letters = GetLogicalDrives();
    int count = 0;

    for (int i = 0; i < DRIVES; i++)
    {
        WCHAR root[] = {(WCHAR)('A' + i), ':', '\\', 0};
        ULARGE_INTEGER size, free;
        UINT type;

        if (!(letters >> i & 1) || ((type = GetDriveTypeW(root)) != DRIVE_FIXED && type != DRIVE_REMOVABLE) ||
            !GetDiskFreeSpaceExW(root, NULL, &size, &free))
            continue;
        drives[count].letter = root[0];
        drives[count].size = (LONGLONG)size.QuadPart;
        drives[count].free = (LONGLONG)free.QuadPart;
        drives[count].on_device = device_of(root, &drives[count].major, &drives[count].minor);
        count++;
    }
    return count;
}

static BOOL take_volumes(struct table *out)
{
    char *diskstats = read_text(PROC L"diskstats");
    struct drive drives[DRIVES];

    pdh_parse_volumes(out, diskstats, read_uptime(), drives, take_drives(drives));
    free(diskstats);
    return TRUE;
}

static BOOL take_disks(struct table *out)
{
    char *diskstats = read_text(PROC L"diskstats");
    struct drive drives[DRIVES];
    BOOL ok = diskstats != NULL;

    if (ok)
        pdh_parse_disks(out, diskstats, read_uptime(), drives, take_drives(drives));
    free(diskstats);
    return ok;
}

BOOL pdh_take_table(enum source source, struct table *out)
{
    LARGE_INTEGER now, frequency;
    FILETIME date;

    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    GetSystemTimeAsFileTime(&date);
    memset(out, 0, sizeof(*out));
    out->clock = (LONGLONG)((double)now.QuadPart * TIME_BASE / (double)frequency.QuadPart);
    out->date = (LONGLONG)date.dwHighDateTime << 32 | date.dwLowDateTime;
    switch (source)
    {
    case SOURCE_PROCESSOR: out->taken = take_processors(out, FALSE); break;
    case SOURCE_PROCESSOR_INFORMATION: out->taken = take_processors(out, TRUE); break;
    case SOURCE_MEMORY: out->taken = take_memory(out); break;
    case SOURCE_NETWORK: out->taken = take_network(out); break;
    case SOURCE_SYSTEM: out->taken = take_system(out); break;
    case SOURCE_PROCESS: out->taken = take_processes(out, FALSE); break;
    case SOURCE_PROCESS_V2: out->taken = take_processes(out, TRUE); break;
    case SOURCE_VOLUME: out->taken = take_volumes(out); break;
    default: out->taken = take_disks(out); break;
    }
    return out->taken;
}
