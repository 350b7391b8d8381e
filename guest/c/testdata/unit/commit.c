/* Tests of what programs of a container use together (hooks/commit.c). */
#include "commit.h"

#include "check.h"
#include "job.h"

static ULONGLONG limit;

ULONGLONG job_memory_limit(void)
{
    return limit;
}

static void test_parse(void)
{
    static const struct
    {
        const char *name, *status;
        BOOL read;
        ULONGLONG bytes;
    } tests[] = {
        /* clang-format off */
        {"a program", "Name:\tprog.exe\nVmData:\t  2 kB\nRssAnon:\t  102400 kB\nRssFile:\t3 kB\n", TRUE, 100ull << 20},
        {"a name that says so", "Name:\tRssAnon: 9999999\nRssAnon:\t 1 kB\n", TRUE, 1 << 10},
        {"a process that ends", "Name:\ta\nState:\tZ (zombie)\nThreads:\t1\n", FALSE, 0},
        {"no number", "Name:\ta\nRssAnon:\t kB\n", FALSE, 0},
        {"cut", "Name:\ta\nRssAnon:", FALSE, 0},
        {"nothing", "", FALSE, 0},
        /* clang-format on */
    };

    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
    {
        ULONGLONG bytes = 0;

        check_number(tests[i].name, "read", commit_parse(&bytes, tests[i].status), tests[i].read);
        if (tests[i].read)
            check_number(tests[i].name, "bytes", (long long)bytes, (long long)tests[i].bytes);
    }
}

/* The programs of this machine use more than a megabyte. */
static void test_limit(void)
{
    limit = 0;
    check_number("no limit", "too much", commit_is_too_much(1ull << 40), FALSE);
    limit = 1ull << 60;
    check_number("a high limit", "too much", commit_is_too_much(1 << 30), FALSE);
    limit = 1 << 20;
    check_number("a low limit", "too much", commit_is_too_much(1 << 30), TRUE);
    check_number("a low limit", "again, a small piece", commit_is_too_much(1 << 20), TRUE);
    limit = 1ull << 60;
    check_number("a high limit", "again", commit_is_too_much(1 << 20), FALSE);
    check_number("a high limit", "not looked at", commit_is_too_much(1 << 20), FALSE);
    limit = 1 << 20;
    check_number("a low limit", "not looked at yet", commit_is_too_much(1 << 20), FALSE);
}

int main(void)
{
    test_parse();
    test_limit();
    return checks_end();
}
