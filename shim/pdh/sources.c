/* The implemented counters, and the sources of their numbers in /proc. */
#include "counters.h"

#include <pdhmsg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum source
{
    SOURCE_CPU,
    SOURCE_MEMORY,
    SOURCE_PROCESS,
    SOURCE_NET,
    SOURCE_SYSTEM
};

/* The field of a source that a counter shows; its meaning depends on the source. */
/* clang-format off */
enum field {
    CPU_BUSY, CPU_IDLE, CPU_USER, CPU_KERNEL, CPU_INTERRUPT,
    MEM_COMMITTED, MEM_LIMIT, MEM_COMMITTED_SHARE, MEM_AVAILABLE, MEM_AVAILABLE_KB, MEM_AVAILABLE_MB, MEM_CACHE, MEM_FAULTS, MEM_PAGES,
    PROCESS_PRIVATE_WORKING_SET,
    NET_RX_BYTES, NET_RX_PACKETS, NET_RX_ERRORS, NET_RX_DROPPED, NET_TX_BYTES, NET_TX_PACKETS, NET_TX_ERRORS, NET_TX_DROPPED, NET_BYTES, NET_PACKETS,
    SYSTEM_UPTIME, SYSTEM_PROCESSES, SYSTEM_SWITCHES, SYSTEM_QUEUE,
};
/* clang-format on */

struct counter_def
{
    const WCHAR *object, *counter;
    enum source source;
    enum field field;
    enum kind kind;
};

/*
 * Names as in Windows Server 2022, English. Those that kubelet v1.36.3 asks for are in pkg/kubelet/winstats/{perfcounters,network_stats}.go.
 *
 * Committed Bytes is the memory in use, MemTotal - MemAvailable plus used swap: Linux counts as committed what programs have asked for and may never touch
 * (Committed_AS), which under Wine is several times the machine's memory and would make the kubelet evict everything. Working Set - Private of all processes is AnonPages: resident
 * pages that belong to one process alone.
 */
static const struct counter_def defs[] = {
    {L"Processor", L"% Processor Time", SOURCE_CPU, CPU_BUSY, KIND_PERCENT},
    {L"Processor", L"% Idle Time", SOURCE_CPU, CPU_IDLE, KIND_PERCENT},
    {L"Processor", L"% User Time", SOURCE_CPU, CPU_USER, KIND_PERCENT},
    {L"Processor", L"% Privileged Time", SOURCE_CPU, CPU_KERNEL, KIND_PERCENT},
    {L"Processor", L"% Interrupt Time", SOURCE_CPU, CPU_INTERRUPT, KIND_PERCENT},
    {L"Memory", L"Committed Bytes", SOURCE_MEMORY, MEM_COMMITTED, KIND_RAW},
    {L"Memory", L"Commit Limit", SOURCE_MEMORY, MEM_LIMIT, KIND_RAW},
    {L"Memory", L"% Committed Bytes In Use", SOURCE_MEMORY, MEM_COMMITTED_SHARE, KIND_SHARE},
    {L"Memory", L"Available Bytes", SOURCE_MEMORY, MEM_AVAILABLE, KIND_RAW},
    {L"Memory", L"Available KBytes", SOURCE_MEMORY, MEM_AVAILABLE_KB, KIND_RAW},
    {L"Memory", L"Available MBytes", SOURCE_MEMORY, MEM_AVAILABLE_MB, KIND_RAW},
    {L"Memory", L"Cache Bytes", SOURCE_MEMORY, MEM_CACHE, KIND_RAW},
    {L"Memory", L"Page Faults/sec", SOURCE_MEMORY, MEM_FAULTS, KIND_RATE},
    {L"Memory", L"Pages/sec", SOURCE_MEMORY, MEM_PAGES, KIND_RATE},
    {L"Process", L"Working Set - Private", SOURCE_PROCESS, PROCESS_PRIVATE_WORKING_SET, KIND_RAW},
    {L"Network Adapter", L"Bytes Received/sec", SOURCE_NET, NET_RX_BYTES, KIND_RATE},
    {L"Network Adapter", L"Bytes Sent/sec", SOURCE_NET, NET_TX_BYTES, KIND_RATE},
    {L"Network Adapter", L"Bytes Total/sec", SOURCE_NET, NET_BYTES, KIND_RATE},
    {L"Network Adapter", L"Packets Received/sec", SOURCE_NET, NET_RX_PACKETS, KIND_RATE},
    {L"Network Adapter", L"Packets Sent/sec", SOURCE_NET, NET_TX_PACKETS, KIND_RATE},
    {L"Network Adapter", L"Packets/sec", SOURCE_NET, NET_PACKETS, KIND_RATE},
    {L"Network Adapter", L"Packets Received Discarded", SOURCE_NET, NET_RX_DROPPED, KIND_RAW},
    {L"Network Adapter", L"Packets Received Errors", SOURCE_NET, NET_RX_ERRORS, KIND_RAW},
    {L"Network Adapter", L"Packets Outbound Discarded", SOURCE_NET, NET_TX_DROPPED, KIND_RAW},
    {L"Network Adapter", L"Packets Outbound Errors", SOURCE_NET, NET_TX_ERRORS, KIND_RAW},
    {L"System", L"System Up Time", SOURCE_SYSTEM, SYSTEM_UPTIME, KIND_RAW},
    {L"System", L"Processes", SOURCE_SYSTEM, SYSTEM_PROCESSES, KIND_RAW},
    {L"System", L"Processor Queue Length", SOURCE_SYSTEM, SYSTEM_QUEUE, KIND_RAW},
    {L"System", L"Context Switches/sec", SOURCE_SYSTEM, SYSTEM_SWITCHES, KIND_RATE},
};

/* Objects that have the same counters under a second name. */
static const WCHAR *canonical_object(const WCHAR *object)
{
    if (!_wcsicmp(object, L"Network Interface"))
        return L"Network Adapter";
    if (!_wcsicmp(object, L"Processor Information"))
        return L"Processor";
    return object;
}

const struct counter_def *find_def(const WCHAR *object, const WCHAR *counter, LONG *status)
{
    object = canonical_object(object);
    *status = (LONG)PDH_CSTATUS_NO_OBJECT;
    for (unsigned i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
    {
        if (_wcsicmp(defs[i].object, object))
            continue;
        *status = (LONG)PDH_CSTATUS_NO_COUNTER;
        if (_wcsicmp(defs[i].counter, counter))
            continue;
        *status = ERROR_SUCCESS;
        return &defs[i];
    }
    return NULL;
}

enum kind def_kind(const struct counter_def *def)
{
    return def->kind;
}

BOOL def_has_instances(const struct counter_def *def)
{
    return def->source == SOURCE_CPU || def->source == SOURCE_NET || def->source == SOURCE_PROCESS;
}

char *read_proc(const WCHAR *path)
{
    HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    size_t used = 0, room = 16384;
    char *text = malloc(room);
    DWORD got;

    if (file == INVALID_HANDLE_VALUE || !text)
        goto fail;
    while (ReadFile(file, text + used, (DWORD)(room - used - 1), &got, NULL) && got)
    {
        used += got;
        if (used + 1 < room)
            continue;
        char *more = realloc(text, room *= 2);
        if (!more)
            goto fail;
        text = more;
    }
    CloseHandle(file);
    text[used] = 0;
    return text;
fail:
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    free(text);
    return NULL;
}

/* add appends an instance that the pattern names. */
static void add(struct samples *out, const WCHAR *pattern, const WCHAR *name, double value, double base)
{
    struct sample *items;

    if (wcscmp(pattern, L"*") && _wcsicmp(pattern, name))
        return;
    items = realloc(out->items, ((size_t)out->count + 1) * sizeof(*items));
    if (!items)
        return;
    out->items = items;
    wcsncpy(items[out->count].name, name, NAME_MAX_CHARS - 1);
    items[out->count].name[NAME_MAX_CHARS - 1] = 0;
    items[out->count].value = value;
    items[out->count].base = base;
    out->count++;
}

/* number_after returns the number after a line's key, 0 if there is no such line. */
static double number_after(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n'))
    {
        if (*line == '\n')
            line++;
        if (!strncmp(line, key, length))
            return strtod(line + length, NULL);
    }
    return 0;
}

/* cpu_samples reads /proc/stat: user nice system idle iowait irq softirq steal, in ticks, for the machine ("cpu") and for each processor ("cpu0"). */
static BOOL cpu_samples(enum field field, const WCHAR *pattern, struct samples *out)
{
    char *text = read_proc(L"\\\\?\\unix\\proc\\stat");

    if (!text)
        return FALSE;
    for (char *line = text; line && !strncmp(line, "cpu", 3); line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    {
        double t[8], total = 0, value = 0;
        WCHAR name[16] = L"_Total";
        char *p = line + 3;

        if (*p != ' ')
        {
            unsigned n = (unsigned)strtoul(p, &p, 10);
            _ultow(n, name, 10);
        }
        for (int i = 0; i < 8; i++)
            total += t[i] = strtod(p, &p);
        switch (field)
        {
        case CPU_BUSY: value = total - t[3] - t[4]; break;
        case CPU_IDLE: value = t[3] + t[4]; break;
        case CPU_USER: value = t[0] + t[1]; break;
        case CPU_KERNEL: value = t[2] + t[5] + t[6]; break;
        default: value = t[5] + t[6]; break;
        }
        add(out, pattern, name, value, total);
    }
    free(text);
    return TRUE;
}

static BOOL memory_samples(enum field field, const WCHAR *pattern, struct samples *out)
{
    char *text = read_proc(field == MEM_FAULTS || field == MEM_PAGES ? L"\\\\?\\unix\\proc\\vmstat" : L"\\\\?\\unix\\proc\\meminfo");
    double total, swap, available, committed, value = 0, base = 0;

    if (!text)
        return FALSE;
    total = number_after(text, "MemTotal:") * 1024;
    available = number_after(text, "MemAvailable:") * 1024;
    swap = number_after(text, "SwapTotal:") * 1024;
    committed = total - available + swap - number_after(text, "SwapFree:") * 1024;
    switch (field)
    {
    case MEM_COMMITTED: value = committed; break;
    case MEM_LIMIT: value = total + swap; break;
    case MEM_COMMITTED_SHARE: value = committed, base = total + swap; break;
    case MEM_AVAILABLE: value = available; break;
    case MEM_AVAILABLE_KB: value = available / 1024; break;
    case MEM_AVAILABLE_MB: value = available / 1048576; break;
    case MEM_CACHE: value = number_after(text, "Cached:") * 1024; break;
    case MEM_FAULTS: value = number_after(text, "pgfault "); break;
    case MEM_PAGES: value = number_after(text, "pswpin ") + number_after(text, "pswpout "); break;
    default: value = number_after(text, "AnonPages:") * 1024; break;
    }
    add(out, pattern, field == PROCESS_PRIVATE_WORKING_SET ? L"_Total" : L"", value, base);
    free(text);
    return TRUE;
}

/*
 * instance_name writes an adapter's name as Windows does in a path: brackets for parentheses, underscores for other
 * characters that a path cannot hold.
 */
static void instance_name(WCHAR *name, const char *from, size_t length)
{
    size_t i;

    for (i = 0; i < length && i < NAME_MAX_CHARS - 1; i++)
    {
        WCHAR c = (unsigned char)from[i];

        name[i] = c == '(' ? '[' : c == ')' ? ']' : c == '#' || c == '/' || c == '\\' ? '_' : c;
    }
    name[i] = 0;
}

/* net_samples reads /proc/net/dev of this process's network namespace, without the loopback, which Windows counts nowhere. */
static BOOL net_samples(enum field field, const WCHAR *pattern, struct samples *out)
{
    static const int columns[] = {0, 1, 2, 3, 8, 9, 10, 11}; /* in the order of NET_RX_BYTES ... NET_TX_DROPPED */
    char *text = read_proc(L"\\\\?\\unix\\proc\\net\\dev"), *line;

    if (!text)
        return FALSE;
    for (line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    {
        char *end = strchr(line, '\n'), *colon = strchr(line, ':'), *p;
        WCHAR name[NAME_MAX_CHARS];
        double v[16], value;

        if (!colon || (end && colon > end))
            continue;
        while (*line == ' ')
            line++;
        if (!strncmp(line, "lo:", 3))
            continue;
        instance_name(name, line, (size_t)(colon - line));
        p = colon + 1;
        for (int i = 0; i < 16; i++)
            v[i] = strtod(p, &p);
        if (field == NET_BYTES)
            value = v[0] + v[8];
        else if (field == NET_PACKETS)
            value = v[1] + v[9];
        else
            value = v[columns[field - NET_RX_BYTES]];
        add(out, pattern, name, value, 0);
    }
    free(text);
    return TRUE;
}

static BOOL system_samples(enum field field, const WCHAR *pattern, struct samples *out)
{
    char *text = read_proc(field == SYSTEM_UPTIME      ? L"\\\\?\\unix\\proc\\uptime"
                           : field == SYSTEM_PROCESSES ? L"\\\\?\\unix\\proc\\loadavg"
                                                       : L"\\\\?\\unix\\proc\\stat");
    double value;

    if (!text)
        return FALSE;
    switch (field)
    {
    case SYSTEM_UPTIME: value = strtod(text, NULL); break;
    case SYSTEM_PROCESSES: value = strchr(text, '/') ? strtod(strchr(text, '/') + 1, NULL) : 0; break;
    case SYSTEM_SWITCHES: value = number_after(text, "ctxt "); break;
    default: value = number_after(text, "procs_running "); break;
    }
    add(out, pattern, L"", value, 0);
    free(text);
    return TRUE;
}

BOOL take_samples(const struct counter_def *def, const WCHAR *pattern, struct samples *out)
{
    LARGE_INTEGER now, frequency;

    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    out->count = 0;
    out->items = NULL;
    out->seconds = (double)now.QuadPart / (double)frequency.QuadPart;
    switch (def->source)
    {
    case SOURCE_CPU: return cpu_samples(def->field, pattern, out);
    case SOURCE_NET: return net_samples(def->field, pattern, out);
    case SOURCE_SYSTEM: return system_samples(def->field, pattern, out);
    default: return memory_samples(def->field, pattern, out);
    }
}
