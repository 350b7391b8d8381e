/* Tests of what is done when a service fails (hooks/failure.c). */
#include "failure.h"

#include "check.h"

/* A value as Windows writes it: a day; restart after 60 s, run after 1 s, nothing. */
static const BYTE day[] = {0x80, 0x51, 1,    0,    0, 0, 0, 0, 0, 0, 0,    0, 3, 0, 0, 0, 0x14, 0, 0, 0, 1, 0,
                           0,    0,    0x60, 0xea, 0, 0, 3, 0, 0, 0, 0xe8, 3, 0, 0, 0, 0, 0,    0, 0, 0, 0, 0};

static void test_value(void)
{
    struct failure_plan plan;
    BYTE again[FAILURE_VALUE_MAX], many[FAILURE_HEADER_BYTES + 100 * 8] = {0};

    check_number("a day", "read", failure_read(day, sizeof(day), &plan), TRUE);
    check_number("a day", "period", plan.period, 86400);
    check_number("a day", "count", plan.count, 3);
    check_number("a day", "first", plan.actions[0].type, FAILURE_RESTART);
    check_number("a day", "first's delay", plan.actions[0].delay, 60000);
    check_number("a day", "second", plan.actions[1].type, FAILURE_RUN);
    check_number("a day", "second's delay", plan.actions[1].delay, 1000);
    check_number("written", "size", failure_write(&plan, again), sizeof(day));
    check_number("written", "same", memcmp(again, day, sizeof(day)), 0);
    check_number("cut", "read", failure_read(day, sizeof(day) - 1, &plan), FALSE);
    check_number("cut", "count", plan.count > 3, FALSE);
    check_number("nothing", "read", failure_read(day, 0, &plan), FALSE);
    many[12] = 100;
    check_number("many", "read", failure_read(many, sizeof(many), &plan), TRUE);
    check_number("many", "count", plan.count, FAILURE_ACTIONS_MAX);
    plan.count = 100;
    check_number("many", "size", failure_write(&plan, again), FAILURE_VALUE_MAX);
}

static void test_next(void)
{
    static const struct
    {
        const char *name;
        ULONGLONG at; /* seconds */
        DWORD type, delay, count;
    } failures[] = {
        {"first", 10, FAILURE_RESTART, 60000, 1},
        {"second", 20, FAILURE_RUN, 1000, 2},
        {"third", 30, FAILURE_NONE, 0, 3},
        {"fourth", 40, FAILURE_NONE, 0, 4},
        {"the last moment", 86440, FAILURE_NONE, 0, 5},
        {"a day later", 86440 + 86401, FAILURE_RESTART, 60000, 1},
    };
    struct failure_plan plan, empty = {0};
    struct failure_record record = {0}, never = {0};

    failure_read(day, sizeof(day), &plan);
    for (unsigned i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
    {
        struct failure_action action = failure_next(&record, &plan, failures[i].at * 1000);

        check_number(failures[i].name, "action", action.type, failures[i].type);
        check_number(failures[i].name, "delay", action.delay, failures[i].delay);
        check_number(failures[i].name, "count", record.count, failures[i].count);
    }
    plan.period = FAILURE_NEVER;
    failure_next(&never, &plan, 0);
    check_number("no end", "action", failure_next(&never, &plan, 1ull << 60).type, FAILURE_RUN);
    check_number("no plan", "action", failure_next(&never, &empty, 0).type, FAILURE_NONE);
}

int main(void)
{
    test_value();
    test_next();
    return checks_end();
}
