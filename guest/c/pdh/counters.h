/*
 * pdh.dll: performance counters with the machine's real numbers, from the Linux kernel's /proc.
 *
 * A Windows host of Mullion stands for the machine it runs on, so its counters are the machine's; its processes are
 * those of its Windows. What each means is written in defs.c.
 *
 * A source (sources.c) is measured as a whole: its table has a row for each instance, and in each row the fields that
 * defs.c names. What is computed from texts (parse.c) and from two measurements (figure.c) needs nothing of Windows.
 */
#ifndef MULLION_PDH_COUNTERS_H
#define MULLION_PDH_COUNTERS_H

#include <windows.h>

enum
{
    NAME_MAX_CHARS = 128,
    PATH_PART_CHARS = 1024, /* PDH_MAX_COUNTER_NAME */
    FIELDS_MAX = 32,
    TIME_BASE = 10000000, /* all times are in units of 100 ns */
};

enum source
{
    SOURCE_PROCESSOR,
    SOURCE_PROCESSOR_INFORMATION,
    SOURCE_MEMORY,
    SOURCE_NETWORK,
    SOURCE_SYSTEM,
    SOURCE_PROCESS,
    SOURCE_PROCESS_V2,
    SOURCE_VOLUME,
    SOURCE_DISK,
    SOURCES
};

/* The fields of the sources' rows, and what may stand in a counter's definition beside them. */
/* clang-format off */
enum { FIELD_NONE = -1, FIELD_ZERO = -2, BASE_TIME = -3 };
enum { CPU_ALL, CPU_IDLE, CPU_USER, CPU_KERNEL, CPU_INTERRUPT, CPU_DPC, CPU_PRIORITY, CPU_INTERRUPTS,
       CPU_CLOCK_INTERRUPTS, CPU_DPCS, CPU_MHZ,
       CPU_WORK, CPU_KERNEL_WORK, CPU_PERCENT_BASE };
enum { MEM_COMMITTED, MEM_LIMIT, MEM_AVAILABLE, MEM_AVAILABLE_KB, MEM_AVAILABLE_MB, MEM_CACHE, MEM_UNUSED, MEM_STANDBY,
       MEM_MODIFIED, MEM_NONPAGED,
       MEM_PAGED, MEM_FAULTS, MEM_READS, MEM_SWAPPED_IN, MEM_SWAPPED_OUT, MEM_SWAPPED };
enum { NET_RX_BYTES, NET_RX_PACKETS, NET_RX_ERRORS, NET_RX_DROPPED, NET_TX_BYTES, NET_TX_PACKETS, NET_TX_ERRORS,
       NET_TX_DROPPED, NET_BYTES, NET_PACKETS,
       NET_BANDWIDTH };
enum { SYS_BOOT, SYS_PROCESSES, SYS_THREADS, SYS_SWITCHES, SYS_QUEUE };
enum { PROCESS_ID, PROCESS_PARENT, PROCESS_START, PROCESS_TIME, PROCESS_KERNEL, PROCESS_USER, PROCESS_HANDLES,
       PROCESS_THREADS, PROCESS_PRIORITY,
       PROCESS_VIRTUAL, PROCESS_VIRTUAL_PEAK, PROCESS_WORKING_SET, PROCESS_WORKING_SET_PEAK,
       PROCESS_WORKING_SET_PRIVATE, PROCESS_PRIVATE };
enum { DISK_QUEUE, DISK_READS, DISK_READ_BYTES, DISK_READ_TIME, DISK_WRITES, DISK_WRITE_BYTES, DISK_WRITE_TIME,
       DISK_TRANSFERS, DISK_BYTES,
       DISK_TRANSFER_TIME, DISK_IDLE, DISK_FREE_MB, DISK_SIZE_MB };
/* clang-format on */

struct row
{
    WCHAR name[NAME_MAX_CHARS]; /* the instance; empty if the object has none */
    UINT32 have;                /* a bit for each field that is known */
    LONGLONG value[FIELDS_MAX];
};

/* All instances of a source at one time. */
struct table
{
    BOOL taken;
    int count, room;
    struct row *rows;
    LONGLONG clock; /* when, on a clock that only goes forward */
    LONGLONG date;  /* when, as FILETIME */
};

struct object_def
{
    const WCHAR *name;
    enum source source;
    BOOL instances;
};

/*
 * A counter: its type (winperf.h) says how its figure is computed. field is the first raw value, base the second one: a
 * field, BASE_TIME, or FIELD_NONE. A counter whose field is FIELD_NONE is one that Windows has and Linux knows nothing
 * of.
 */
struct counter_def
{
    const struct object_def *object;
    const WCHAR *name;
    DWORD type;
    int field, base;
};

struct raw
{
    BOOL valid;
    LONGLONG first, second;
};

/* A drive, and the disk that it is on. */
struct drive
{
    WCHAR letter;
    LONGLONG free, size;
    BOOL on_device;
    unsigned major, minor;
};

/* names.c */
BOOL pdh_same_name(const WCHAR *a, const WCHAR *b);
void pdh_copy_name(WCHAR *to, const WCHAR *from, size_t room);
void pdh_number_name(WCHAR *to, const WCHAR *before, unsigned long number);
BOOL pdh_matches(const WCHAR *pattern, const WCHAR *name);
/*
 * Takes \\machine\Object(instance)\Counter apart; the machine and the instance may be missing. Each part has room for
 * PATH_PART_CHARS.
 */
LONG pdh_parse_path(const WCHAR *path, WCHAR *object, WCHAR *instance, WCHAR *counter);

/* defs.c: NULL and a PDH status if Windows would not know it either. */
const struct object_def *pdh_find_object(const WCHAR *name);
const struct counter_def *pdh_find_counter(const WCHAR *object, const WCHAR *counter, LONG *status);
const struct object_def *pdh_object_at(int index);
const struct counter_def *pdh_counter_at(int index);

/* rows.c: a row is NULL if there was no memory for it. */
struct row *pdh_add_row(struct table *table, const WCHAR *name);
void pdh_set_field(struct row *row, int field, LONGLONG value);
void pdh_add_to(struct row *row, int field, LONGLONG value);

/* parse.c: rows from the texts of /proc, each of which may be NULL. */
struct processor_texts
{
    const char *stat, *interrupts, *softirqs, *cpuinfo;
};
void pdh_parse_processors(struct table *out, const struct processor_texts *texts, BOOL with_group);
void pdh_parse_memory(struct table *out, const char *meminfo, const char *vmstat);
void pdh_parse_network(struct table *out, const char *dev);
void pdh_parse_volumes(struct table *out, const char *diskstats, LONGLONG uptime, const struct drive *drives,
                       int count);
void pdh_parse_disks(struct table *out, const char *diskstats, LONGLONG uptime, const struct drive *drives, int count);
void pdh_parse_system(struct table *out, const char *stat, LONGLONG uptime, LONGLONG processes, LONGLONG threads);
LONGLONG pdh_parse_uptime(const char *text);
LONGLONG pdh_anonymous_memory(const char *meminfo);

/* figure.c */
struct raw pdh_raw_of(const struct counter_def *def, const struct table *table, const struct row *row);
BOOL pdh_figure(DWORD type, const struct raw *now, const struct raw *before, BOOL cap, double *value);

/* sources.c: measures a source. FALSE if it cannot be read. */
BOOL pdh_take_table(enum source source, struct table *out);

#endif
