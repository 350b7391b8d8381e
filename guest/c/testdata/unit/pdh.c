/*
 * Tests of the parts of pdh.dll that compute: paths, the tables from the texts of /proc, and the figures of two
 * measurements.
 */
#include "counters.h"

#include <stdlib.h>
#include <winperf.h>
#include <pdhmsg.h>

#include "check.h"
#include "nodememory.h"

static void test_paths(void)
{
    static const struct
    {
        const char *path, *object, *instance, *counter;
    } tests[] = {
        {"\\Memory\\Available Bytes", "Memory", "", "Available Bytes"},
        {"\\\\host\\Memory\\Available Bytes", "Memory", "", "Available Bytes"},
        {"\\Processor Information(0,_Total)\\% Idle Time", "Processor Information", "0,_Total", "% Idle Time"},
        {"\\Time\\Clock Frequency Adjustment (ppb)", "Time", "", "Clock Frequency Adjustment (ppb)"},
        {"\\Process(a(b)\\c)\\ID Process", "Process", "a(b)\\c", "ID Process"},
        {"\\Memory(*)\\Free & Zero Page List Bytes", "Memory", "*", "Free & Zero Page List Bytes"},
        {"Memory\\Available Bytes", NULL, NULL, NULL},
        {"\\Memory", NULL, NULL, NULL},
        {"\\Memory\\", NULL, NULL, NULL},
        {"\\\\host", NULL, NULL, NULL},
        {"\\(x)\\y", NULL, NULL, NULL},
        {"\\Processor(0\\% Idle Time", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
    };
    static WCHAR object[PATH_PART_CHARS], instance[PATH_PART_CHARS], counter[PATH_PART_CHARS];

    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
    {
        WCHAR *path = wide(tests[i].path);
        LONG status = pdh_parse_path(path, object, instance, counter);

        check_status(tests[i].path, "status", status, tests[i].object ? 0 : (NTSTATUS)PDH_CSTATUS_BAD_COUNTERNAME);
        if (!status)
        {
            check_wide(tests[i].path, "object", object, tests[i].object);
            check_wide(tests[i].path, "instance", instance, tests[i].instance);
            check_wide(tests[i].path, "counter", counter, tests[i].counter);
        }
        free(path);
    }
}

static void test_matches(void)
{
    static const struct
    {
        const char *pattern, *name;
        BOOL want;
    } tests[] = {
        {"*", "anything", TRUE}, {"*", "", TRUE},         {"_total", "_Total", TRUE}, {"eth0", "eth1", FALSE},
        {"eth*", "ETH0", TRUE},  {"*:1*", "a:21", FALSE}, {"*:1*", "a:12", TRUE},     {"a*b*c", "aXbYbZc", TRUE},
        {"a*b", "ab", TRUE},     {"a*b", "abc", FALSE},   {"", "a", FALSE},           {"0,*", "0,_Total", TRUE},
        {"a", "", FALSE},
    };

    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
    {
        WCHAR *pattern = wide(tests[i].pattern), *name = wide(tests[i].name);

        check_number(tests[i].pattern, tests[i].name, pdh_matches(pattern, name), tests[i].want);
        free(pattern);
        free(name);
    }
}

static void test_definitions(void)
{
    const struct counter_def *def;
    LONG status;

    for (int i = 0; (def = pdh_counter_at(i)); i++)
        check_number("each counter", "is found by its name",
                     pdh_find_counter(def->object->name, def->name, &status) == def, TRUE);
    def = pdh_find_counter(L"processor information", L"% PROCESSOR TIME", &status);
    check_number("other letter case", "type", def ? def->type : 0, PERF_100NSEC_TIMER_INV);
    check_number("no such counter", "found", pdh_find_counter(L"Memory", L"Nothing", &status) != NULL, FALSE);
    check_status("no such counter", "status", status, (NTSTATUS)PDH_CSTATUS_NO_COUNTER);
    check_number("no such object", "found", pdh_find_counter(L"Nothing", L"Nothing", &status) != NULL, FALSE);
    check_status("no such object", "status", status, (NTSTATUS)PDH_CSTATUS_NO_OBJECT);
}

/* Checks a field of a row, which must be there. */
static void check_field(const struct table *table, const char *name, int field, long long want)
{
    WCHAR *instance = wide(name);
    const struct row *row = NULL;
    char what[32] = "field  ";

    what[6] = (char)(field / 10 + '0');
    what[7] = (char)(field % 10 + '0');
    for (int i = 0; i < table->count; i++)
        if (pdh_same_name(table->rows[i].name, instance))
            row = &table->rows[i];
    check_number(name, what, row && row->have >> field & 1, TRUE);
    if (row)
        check_number(name, what, row->value[field], want);
    free(instance);
}

/* Two processors, of which 1 is off line, as a kernel shows 0 and 2. */
static void test_processors(void)
{
    static const struct processor_texts texts = {
        "cpu  300 20 100 400 40 6 8 0 0 0\ncpu0 100 10 50 200 20 2 4 0 0 0\ncpu2 200 10 50 200 20 4 4 0 0 0\nintr 9 9\n"
        "ctxt 77\nprocs_running 5\n",
        "           CPU0       CPU2       \n  8:   10   20  IO-APIC 3 rtc0\nLOC:   5   7   Local timer interrupts\n"
        "ERR:  3\nMIS:  4\n",
        "                    CPU0       CPU2       \n          HI:   1   2\n       TIMER:   3   4\n",
        "processor\t: 0\nvendor_id\t: X\ncpu MHz\t\t: 2096.004\n\nprocessor\t: 2\ncpu MHz\t\t: 3000.9\n",
    };
    struct table table = {0}, plain = {0};

    pdh_parse_processors(&table, &texts, TRUE);
    check_number("processors with a group", "rows", table.count, 4);
    check_field(&table, "0,0", CPU_IDLE, 220 * 100000);
    check_field(&table, "0,2", CPU_USER, 210 * 100000);
    check_field(&table, "0,2", CPU_KERNEL, 58 * 100000);
    check_field(&table, "0,0", CPU_ALL, 386 * 100000);
    check_field(&table, "0,0", CPU_PRIORITY, 156 * 100000);
    check_field(&table, "0,0", CPU_INTERRUPTS, 15);
    check_field(&table, "0,2", CPU_INTERRUPTS, 27);
    check_field(&table, "0,2", CPU_CLOCK_INTERRUPTS, 7);
    check_field(&table, "0,2", CPU_DPCS, 6);
    check_field(&table, "0,2", CPU_MHZ, 3000);
    check_field(&table, "_Total", CPU_IDLE, 220 * 100000);
    check_field(&table, "_Total", CPU_INTERRUPTS, 42);
    check_field(&table, "0,_Total", CPU_MHZ, 2548);
    free(table.rows);
    pdh_parse_processors(&plain, &(struct processor_texts){texts.stat, NULL, NULL, NULL}, FALSE);
    check_number("processors", "rows", plain.count, 3);
    check_field(&plain, "2", CPU_IDLE, 220 * 100000);
    check_number("no interrupts to read", "known", plain.count && plain.rows[0].have >> CPU_INTERRUPTS & 1, FALSE);
    free(plain.rows);
}

static void test_memory(void)
{
    struct table table = {0};

    pdh_parse_memory(&table,
                     "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  400 kB\nCached:  50 kB\n"
                     "SwapCached: 9 kB\nSwapTotal: 200 kB\nSwapFree: 150 kB\nDirty: 3 kB\n",
                     "pgfault 12\npgmajfault 3\npswpin 4\npswpout 5\n");
    check_field(&table, "", MEM_COMMITTED, 650 * 1024);
    check_field(&table, "", MEM_LIMIT, 1200 * 1024);
    check_field(&table, "", MEM_AVAILABLE, 400 * 1024);
    check_field(&table, "", MEM_AVAILABLE_KB, 400);
    check_field(&table, "", MEM_UNUSED, 100 * 1024);
    check_field(&table, "", MEM_STANDBY, 300 * 1024);
    check_field(&table, "", MEM_CACHE, 50 * 1024);
    check_field(&table, "", MEM_MODIFIED, 3 * 1024);
    check_field(&table, "", MEM_FAULTS, 12);
    check_field(&table, "", MEM_SWAPPED, 9);
    free(table.rows);
}

/* A node's memory from the files of its cgroup, as the kernel 6.1 has them, and what counters make of it. */
static void test_node_memory(void)
{
    static const struct
    {
        const char *name, *stat;
        LONGLONG available, nonpaged, paged;
    } cases[] = {
        {"cgroup v2",
         "anon 1000000\nfile 600000\nkernel 400000\nshmem 200000\nfile_dirty 5120\nfile_writeback 1024\n"
         "inactive_anon 1200000\nactive_anon 0\ninactive_file 300000\nactive_file 100000\nslab_reclaimable 100000\n",
         4000000 - (2000000 - 500000), 300000, 100000},
        {"cgroup v1",
         "cache 1\nrss 2\ninactive_file 3\nactive_file 4\nhierarchical_memory_limit 4000000\ntotal_cache 600000\n"
         "total_rss 1000000\n"
         "total_dirty 5120\ntotal_writeback 1024\ntotal_inactive_file 300000\ntotal_active_file 100000\n",
         4000000 - (2000000 - 400000), 400000, 0},
        {"nothing but the sum", "", 2000000, 2000000, 0},
        {"files that are counted twice", "inactive_file 9000000\n", 4000000, 2000000, 0},
    };
    struct node_memory memory;

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        struct table table = {0};
        char text[NODE_MEMORY_TEXT];

        check_number(cases[i].name, "parsed", node_memory_parse(&memory, "4000000\n", "2000000\n", cases[i].stat),
                     TRUE);
        check_number(cases[i].name, "available", (long long)memory.available, cases[i].available);
        node_memory_text(&memory, text);
        pdh_parse_memory(&table, text, NULL);
        check_field(&table, "", MEM_LIMIT, 4000000 / 1024 * 1024);
        check_field(&table, "", MEM_AVAILABLE, cases[i].available / 1024 * 1024);
        check_field(&table, "", MEM_COMMITTED, 4000000 / 1024 * 1024 - cases[i].available / 1024 * 1024);
        check_field(&table, "", MEM_UNUSED, 2000000 / 1024 * 1024);
        check_field(&table, "", MEM_NONPAGED, cases[i].nonpaged / 1024 * 1024);
        check_field(&table, "", MEM_PAGED, cases[i].paged / 1024 * 1024);
        if (i < 2)
        {
            check_field(&table, "", MEM_CACHE, 600000 / 1024 * 1024);
            check_field(&table, "", MEM_MODIFIED, 6144);
            check_number(cases[i].name, "anonymous", pdh_anonymous_memory(text), 1000000 / 1024 * 1024);
        }
        free(table.rows);
    }
    check_number("fuller than it may be", "parsed",
                 node_memory_parse(&memory, "1000\n", "3000\n", "inactive_file 500\n"), TRUE);
    check_number("fuller than it may be", "available", (long long)memory.available, 0);
    check_number("no limit", "parsed", node_memory_parse(&memory, "max\n", "3000\n", ""), FALSE);
    check_number("no usage", "parsed", node_memory_parse(&memory, "1000\n", "", ""), FALSE);
}

static void test_network(void)
{
    struct table table = {0};

    pdh_parse_network(&table,
                      "Inter-|   Receive\n face |bytes    packets\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n"
                      "  eth0:100 2 3 4 0 0 0 0 500 6 7 8 0 0 0 0\nvEthernet (a#b): 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n");
    check_number("adapters", "rows", table.count, 2);
    check_field(&table, "eth0", NET_RX_BYTES, 100);
    check_field(&table, "eth0", NET_RX_DROPPED, 4);
    check_field(&table, "eth0", NET_TX_ERRORS, 7);
    check_field(&table, "eth0", NET_BYTES, 600);
    check_field(&table, "eth0", NET_PACKETS, 8);
    check_field(&table, "vEthernet [a_b]", NET_BYTES, 3);
    free(table.rows);
}

static const char diskstats[] = "   7       0 loop0 1 1 1 1 1 1 1 1 0 1 1\n"
                                " 254       0 vda 10 1 20 30 40 2 50 60 3 70 80 0 0 0 0 1 1\n"
                                " 254       1 vda1 1 0 2 3 4 0 5 6 0 7 8 0 0 0 0 0 0\n"
                                " 259       0 nvme0n1 5 0 6 7 8 0 9 10 0 11 12\n"
                                " 259       1 nvme0n1p1 5 0 6 7 8 0 9 10 0 11 12\n"
                                " 253       0 dm-0 9 9 9 9 9 9 9 9 9 9 9\n"
                                " 252       0 zram0 9 9 9 9 9 9 9 9 9 9 9\n"
                                " 254      16 vdb 0 0\n";

static void test_disks(void)
{
    static const struct drive drives[] = {
        {'C', 5 << 20, 9 << 20, TRUE, 254, 1}, {'D', 1 << 20, 2 << 20, FALSE, 0, 41}, {'E', 0, 1 << 20, TRUE, 259, 0}};
    struct table disks = {0}, volumes = {0};
    const LONGLONG up = 1000000;

    pdh_parse_disks(&disks, diskstats, up, drives, 3);
    check_number("disks", "rows", disks.count, 3);
    check_field(&disks, "0 C:", DISK_READS, 10);
    check_field(&disks, "0 C:", DISK_READ_BYTES, 20 * 512);
    check_field(&disks, "0 C:", DISK_READ_TIME, 300000);
    check_field(&disks, "0 C:", DISK_WRITE_TIME, 600000);
    check_field(&disks, "0 C:", DISK_IDLE, 300000);
    check_field(&disks, "0 C:", DISK_QUEUE, 3);
    check_field(&disks, "1 E:", DISK_WRITES, 8);
    check_field(&disks, "_Total", DISK_TRANSFERS, 63);
    check_field(&disks, "_Total", DISK_IDLE, (300000 + 890000) / 2);
    free(disks.rows);
    pdh_parse_volumes(&volumes, diskstats, up, drives, 3);
    check_number("volumes", "rows", volumes.count, 4);
    check_field(&volumes, "C:", DISK_FREE_MB, 5);
    check_field(&volumes, "C:", DISK_SIZE_MB, 9);
    check_field(&volumes, "C:", DISK_WRITE_BYTES, 5 * 512);
    check_number("a drive on no device", "known", volumes.count > 1 && volumes.rows[1].have >> DISK_READS & 1, FALSE);
    check_field(&volumes, "D:", DISK_SIZE_MB, 2);
    check_field(&volumes, "_Total", DISK_SIZE_MB, 12);
    check_field(&volumes, "_Total", DISK_READS, 6);
    free(volumes.rows);
}

static void test_system(void)
{
    struct table table = {0};

    check_number("uptime", "100 ns", pdh_parse_uptime("12.34 99.00\n"), 123400000);
    check_number("no uptime", "100 ns", pdh_parse_uptime(NULL), 0);
    table.date = 1000;
    pdh_parse_system(&table, "cpu  1 1\ncpu0 1\ncpu1 1\nctxt 77\nprocs_running 5\n", 400, 6, 60);
    check_field(&table, "", SYS_BOOT, 600);
    check_field(&table, "", SYS_PROCESSES, 6);
    check_field(&table, "", SYS_THREADS, 60);
    check_field(&table, "", SYS_SWITCHES, 77);
    check_field(&table, "", SYS_QUEUE, 3);
    free(table.rows);
}

static void test_figures(void)
{
    static const struct
    {
        const char *name;
        DWORD type;
        struct raw before, now;
        BOOL cap, want;
        double value;
    } tests[] = {
        {"a number", PERF_COUNTER_LARGE_RAWCOUNT, {FALSE, 0, 0}, {TRUE, 7, 0}, TRUE, TRUE, 7},
        {"an unknown number", PERF_COUNTER_RAWCOUNT, {TRUE, 1, 1}, {FALSE, 0, 0}, TRUE, FALSE, 0},
        {"a fraction", PERF_RAW_FRACTION, {FALSE, 0, 0}, {TRUE, 1, 4}, TRUE, TRUE, 25},
        {"a fraction of nothing", PERF_RAW_FRACTION, {FALSE, 0, 0}, {TRUE, 1, 0}, TRUE, TRUE, 0},
        {"the time since", PERF_ELAPSED_TIME, {FALSE, 0, 0}, {TRUE, 10000000, 35000000}, TRUE, TRUE, 2.5},
        {"a rate", PERF_COUNTER_BULK_COUNT, {TRUE, 100, 0}, {TRUE, 300, 20000000}, TRUE, TRUE, 100},
        {"a rate of one measurement", PERF_COUNTER_COUNTER, {FALSE, 0, 0}, {TRUE, 300, 20000000}, TRUE, FALSE, 0},
        {"a rate in no time", PERF_COUNTER_COUNTER, {TRUE, 1, 5}, {TRUE, 3, 5}, TRUE, TRUE, 0},
        {"a rate that began anew", PERF_COUNTER_COUNTER, {TRUE, 9, 0}, {TRUE, 3, 5}, TRUE, TRUE, 0},
        {"a share of time", PERF_100NSEC_TIMER, {TRUE, 0, 0}, {TRUE, 3, 4}, TRUE, TRUE, 75},
        {"a share over 100", PERF_PRECISION_100NS_TIMER, {TRUE, 0, 0}, {TRUE, 8, 4}, TRUE, TRUE, 100},
        {"a share over 100, not capped", PERF_PRECISION_100NS_TIMER, {TRUE, 0, 0}, {TRUE, 8, 4}, FALSE, TRUE, 200},
        {"the rest of a time", PERF_100NSEC_TIMER_INV, {TRUE, 0, 0}, {TRUE, 1, 4}, TRUE, TRUE, 75},
        {"seconds for each", PERF_AVERAGE_TIMER, {TRUE, 0, 0}, {TRUE, 10000000, 4}, TRUE, TRUE, 0.25},
        {"bytes for each", PERF_AVERAGE_BULK, {TRUE, 0, 0}, {TRUE, 8192, 2}, TRUE, TRUE, 4096},
        {"a queue", PERF_COUNTER_100NS_QUEUELEN_TYPE, {TRUE, 0, 0}, {TRUE, 30, 10}, TRUE, TRUE, 3},
    };

    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
    {
        double value = -1;

        check_number(tests[i].name, "known",
                     pdh_figure(tests[i].type, &tests[i].now, &tests[i].before, tests[i].cap, &value), tests[i].want);
        check_number(tests[i].name, "thousandths", (long long)(value * 1000), (long long)(tests[i].value * 1000));
    }
}

/* Which raw values a counter has: its time is that of the measurement, and its base another field. */
static void test_raw(void)
{
    struct table table = {TRUE, 0, 0, NULL, 55, 66};
    struct row row = {L"C:", 0, {0}};
    struct raw raw;
    LONG status;

    pdh_set_field(&row, DISK_FREE_MB, 3);
    raw = pdh_raw_of(pdh_find_counter(L"LogicalDisk", L"% Free Space", &status), &table, &row);
    check_number("a fraction without its base", "known", raw.valid, FALSE);
    pdh_set_field(&row, DISK_SIZE_MB, 8);
    pdh_set_field(&row, DISK_READS, 5);
    raw = pdh_raw_of(pdh_find_counter(L"LogicalDisk", L"% Free Space", &status), &table, &row);
    check_number("a fraction", "first", raw.first, 3);
    check_number("a fraction", "second", raw.second, 8);
    raw = pdh_raw_of(pdh_find_counter(L"LogicalDisk", L"Disk Reads/sec", &status), &table, &row);
    check_number("a rate", "second", raw.second, 55);
    raw = pdh_raw_of(pdh_find_counter(L"LogicalDisk", L"% Idle Time", &status), &table, &row);
    check_number("a time", "second", raw.second, 66);
    check_number("a time that is not known", "known", raw.valid, FALSE);
    raw = pdh_raw_of(pdh_find_counter(L"LogicalDisk", L"Split IO/Sec", &status), &table, &row);
    check_number("a counter that Linux does not have", "known", raw.valid, FALSE);
}

int main(void)
{
    test_paths();
    test_matches();
    test_definitions();
    test_processors();
    test_memory();
    test_node_memory();
    test_network();
    test_disks();
    test_system();
    test_figures();
    test_raw();
    return checks_end();
}
