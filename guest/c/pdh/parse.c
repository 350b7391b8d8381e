/*
 * The tables of the sources, from the texts of the kernel's /proc; proc(5) and Documentation/admin-guide/iostats.rst of
 * the kernel have their formats.
 */
#include "scan.h"

#include <stdlib.h>

enum
{
    PROCESSORS_MAX = 1024,
    TICK = TIME_BASE / 100, /* a tick of /proc/stat, USER_HZ, which is 100 on x86-64 */
    MEGABYTE = 1048576,
    NET_COLUMNS = 16,
};

/* The number after the word that begins a line. FALSE if there is no such line. */
static BOOL number_after(const char *text, const char *word, LONGLONG *number)
{
    for (const char *line = text; line && *line; line = pdh_next_line(line))
    {
        const char *at = pdh_after(line, word);

        if (at)
            return pdh_take_number(&at, number);
    }
    return FALSE;
}

static LONGLONG number_or_0(const char *text, const char *word)
{
    LONGLONG number = 0;

    number_after(text, word, &number);
    return number;
}

/* Seconds with a fraction, as units of 100 ns. */
LONGLONG pdh_parse_uptime(const char *text)
{
    LONGLONG seconds = 0, unit = TIME_BASE;

    if (!text || !pdh_take_number(&text, &seconds))
        return 0;
    seconds *= TIME_BASE;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9' && unit > 1; text++)
            seconds += (*text - '0') * (unit /= 10);
    return seconds;
}

struct columns
{
    int count;
    unsigned ids[PROCESSORS_MAX];
};

/* The processors in the first line of /proc/interrupts and /proc/softirqs. */
static void take_columns(const char *text, struct columns *columns)
{
    const char *at = pdh_skip_blanks(text);
    LONGLONG id;

    columns->count = 0;
    while (columns->count < PROCESSORS_MAX && (at = pdh_after(at, "CPU")) && pdh_take_number(&at, &id))
    {
        columns->ids[columns->count++] = (unsigned)id;
        at = pdh_skip_blanks(at);
    }
}

static struct row *row_of_processor(struct table *table, const unsigned *ids, int count, unsigned id)
{
    for (int i = 0; i < count; i++)
        if (ids[i] == id)
            return &table->rows[i];
    return NULL;
}

/* Adds to a field of each processor's row the numbers of the lines that begin with a word, or of all lines. */
static void add_columns(struct table *table, const unsigned *ids, int count, const char *text, const char *word,
                        int field)
{
    struct columns columns;

    if (!text)
        return;
    take_columns(text, &columns);
    for (const char *line = pdh_next_line(text); *line; line = pdh_next_line(line))
    {
        const char *at = pdh_skip_blanks(line);
        LONGLONG number;

        if (word && !pdh_after(at, word))
            continue;
        if (pdh_after(at, "ERR:") || pdh_after(at, "MIS:")) /* one number of the machine */
            continue;
        while (*at && *at != '\n' && *at != ':')
            at++;
        if (*at != ':')
            continue;
        at++;
        for (int i = 0; i < columns.count && pdh_take_number(&at, &number); i++)
            pdh_add_to(row_of_processor(table, ids, count, columns.ids[i]), field, number);
    }
}

/*
 * A line of /proc/stat: user nice system idle iowait irq softirq steal, in ticks. share divides the machine's line
 * among its processors.
 */
static void set_times(struct row *row, const char *at, int share)
{
    LONGLONG t[8] = {0}, all = 0, idle, kernel;

    for (int i = 0; i < 8 && pdh_take_number(&at, &t[i]); i++)
        all += t[i] = t[i] * TICK / share;
    idle = t[3] + t[4];
    kernel = t[2] + t[5] + t[6];
    pdh_set_field(row, CPU_ALL, all);
    pdh_set_field(row, CPU_IDLE, idle);
    pdh_set_field(row, CPU_USER, t[0] + t[1]);
    pdh_set_field(row, CPU_KERNEL, kernel);
    pdh_set_field(row, CPU_INTERRUPT, t[5]);
    pdh_set_field(row, CPU_DPC, t[6]);
    pdh_set_field(row, CPU_PRIORITY, all - idle - t[1]);
    pdh_set_field(row, CPU_WORK, 100 * (all - idle));
    pdh_set_field(row, CPU_KERNEL_WORK, 100 * kernel);
    pdh_set_field(row, CPU_PERCENT_BASE, all);
}

static void set_frequencies(struct table *table, const unsigned *ids, int count, const char *cpuinfo)
{
    struct row *row = NULL;

    for (const char *line = cpuinfo; line && *line; line = pdh_next_line(line))
    {
        const char *at = pdh_after(line, "processor"), *mhz = pdh_after(line, "cpu MHz");
        LONGLONG number;

        for (at = at ? at : mhz; at && (*at == ' ' || *at == '\t' || *at == ':'); at++)
        {
        }
        if (!at || !pdh_take_number(&at, &number))
            continue;
        if (mhz)
            pdh_set_field(row, CPU_MHZ, number);
        else
            row = row_of_processor(table, ids, count, (unsigned)number);
    }
}

static void add_total(struct table *table, int processors, const WCHAR *name, const char *line)
{
    struct row *total = pdh_add_row(table, name);
    static const int summed[] = {CPU_INTERRUPTS, CPU_CLOCK_INTERRUPTS, CPU_DPCS, CPU_MHZ};

    if (!total)
        return;
    set_times(total, line, processors);
    for (unsigned f = 0; f < sizeof(summed) / sizeof(summed[0]); f++)
        for (int i = 0; i < processors; i++)
            if (table->rows[i].have >> summed[f] & 1)
                pdh_add_to(total, summed[f], table->rows[i].value[summed[f]]);
    if (total->have >> CPU_MHZ & 1)
        total->value[CPU_MHZ] /= processors;
}

/*
 * Each processor, and _Total, which is their average. with_group names them as Processor Information does: 0,3 for the
 * processor 3 of the group 0.
 */
void pdh_parse_processors(struct table *out, const struct processor_texts *texts, BOOL with_group)
{
    unsigned ids[PROCESSORS_MAX];
    const char *all = NULL;
    int count = 0;

    for (const char *line = texts->stat; *line; line = pdh_next_line(line))
    {
        const char *at = pdh_after(line, "cpu");
        WCHAR name[NAME_MAX_CHARS];
        LONGLONG id;

        if (!at)
            continue;
        if (*at == ' ')
        {
            all = at;
            continue;
        }
        if (!pdh_take_number(&at, &id) || count == PROCESSORS_MAX)
            continue;
        pdh_number_name(name, with_group ? L"0," : L"", (unsigned long)id);
        struct row *row = pdh_add_row(out, name);
        if (!row)
            return;
        set_times(row, at, 1);
        ids[count++] = (unsigned)id;
    }
    add_columns(out, ids, count, texts->interrupts, NULL, CPU_INTERRUPTS);
    add_columns(out, ids, count, texts->interrupts, "LOC:", CPU_CLOCK_INTERRUPTS);
    add_columns(out, ids, count, texts->softirqs, NULL, CPU_DPCS);
    set_frequencies(out, ids, count, texts->cpuinfo);
    if (!all || !count)
        return;
    if (with_group)
        add_total(out, count, L"0,_Total", all);
    add_total(out, count, L"_Total", all);
}

LONGLONG pdh_anonymous_memory(const char *meminfo)
{
    return number_or_0(meminfo, "AnonPages:") * 1024;
}

void pdh_parse_memory(struct table *out, const char *meminfo, const char *vmstat)
{
    struct row *row = pdh_add_row(out, L"");
    LONGLONG total = number_or_0(meminfo, "MemTotal:") * 1024, free = number_or_0(meminfo, "MemFree:") * 1024;
    LONGLONG available = number_or_0(meminfo, "MemAvailable:") * 1024, swap = number_or_0(meminfo, "SwapTotal:") * 1024;
    LONGLONG in = number_or_0(vmstat, "pswpin "), output = number_or_0(vmstat, "pswpout ");

    pdh_set_field(row, MEM_COMMITTED, total - available + swap - number_or_0(meminfo, "SwapFree:") * 1024);
    pdh_set_field(row, MEM_LIMIT, total + swap);
    pdh_set_field(row, MEM_AVAILABLE, available);
    pdh_set_field(row, MEM_AVAILABLE_KB, available / 1024);
    pdh_set_field(row, MEM_AVAILABLE_MB, available / MEGABYTE);
    pdh_set_field(row, MEM_CACHE, number_or_0(meminfo, "Cached:") * 1024);
    pdh_set_field(row, MEM_UNUSED, free);
    pdh_set_field(row, MEM_STANDBY, available > free ? available - free : 0);
    pdh_set_field(row, MEM_MODIFIED, (number_or_0(meminfo, "Dirty:") + number_or_0(meminfo, "Writeback:")) * 1024);
    pdh_set_field(row, MEM_NONPAGED,
                  (number_or_0(meminfo, "SUnreclaim:") + number_or_0(meminfo, "KernelStack:") +
                   number_or_0(meminfo, "PageTables:")) *
                      1024);
    pdh_set_field(row, MEM_PAGED, number_or_0(meminfo, "SReclaimable:") * 1024);
    if (!vmstat)
        return;
    pdh_set_field(row, MEM_FAULTS, number_or_0(vmstat, "pgfault "));
    pdh_set_field(row, MEM_READS, number_or_0(vmstat, "pgmajfault "));
    pdh_set_field(row, MEM_SWAPPED_IN, in);
    pdh_set_field(row, MEM_SWAPPED_OUT, output);
    pdh_set_field(row, MEM_SWAPPED, in + output);
}

/*
 * Writes an adapter's name as Windows does in a path: brackets for parentheses, underscores for other characters that a
 * path cannot hold.
 */
static void adapter_name(WCHAR *name, const char *from, const char *end)
{
    size_t i;

    for (i = 0; from + i < end && i < NAME_MAX_CHARS - 1; i++)
    {
        WCHAR c = (unsigned char)from[i];

        name[i] = c == '(' ? '[' : c == ')' ? ']' : c == '#' || c == '/' || c == '\\' ? '_' : c;
    }
    name[i] = 0;
}

/* /proc/net/dev, without the loopback, which Windows counts nowhere. */
void pdh_parse_network(struct table *out, const char *dev)
{
    static const int columns[] = {0, 1, 2, 3, 8, 9, 10, 11}; /* in the order of NET_RX_BYTES ... NET_TX_DROPPED */

    for (const char *line = dev; *line; line = pdh_next_line(line))
    {
        const char *name = pdh_skip_blanks(line), *at = name;
        WCHAR instance[NAME_MAX_CHARS];
        LONGLONG v[NET_COLUMNS] = {0};
        struct row *row;

        while (*at && *at != '\n' && *at != ':')
            at++;
        if (*at != ':' || pdh_after(name, "lo:"))
            continue;
        adapter_name(instance, name, at);
        at++;
        for (int i = 0; i < NET_COLUMNS && pdh_take_number(&at, &v[i]); i++)
        {
        }
        row = pdh_add_row(out, instance);
        for (int i = 0; i <= NET_TX_DROPPED; i++)
            pdh_set_field(row, i, v[columns[i]]);
        pdh_set_field(row, NET_BYTES, v[0] + v[8]);
        pdh_set_field(row, NET_PACKETS, v[1] + v[9]);
    }
}

/* The queue are the threads that could run and do not: those that run are at most as many as there are processors. */
void pdh_parse_system(struct table *out, const char *stat, LONGLONG uptime, LONGLONG processes, LONGLONG threads)
{
    struct row *row = pdh_add_row(out, L"");
    LONGLONG running = number_or_0(stat, "procs_running "), processors = 0;

    for (const char *line = stat; *line; line = pdh_next_line(line))
    {
        const char *at = pdh_after(line, "cpu");

        processors += at && *at >= '0' && *at <= '9';
    }
    pdh_set_field(row, SYS_BOOT, out->date - uptime);
    pdh_set_field(row, SYS_PROCESSES, processes);
    pdh_set_field(row, SYS_THREADS, threads);
    pdh_set_field(row, SYS_SWITCHES, number_or_0(stat, "ctxt "));
    pdh_set_field(row, SYS_QUEUE, running > processors ? running - processors : 0);
}
