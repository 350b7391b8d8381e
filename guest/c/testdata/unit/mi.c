/* Tests of the parts of mi.dll that compute: namespaces, queries, dates, types and results. */
#include "mi.h"

#include <stdlib.h>

#include "check.h"

static void test_dates(void)
{
    static const struct
    {
        const char *text;
        BOOL ok, timestamp;
        DWORD first, second, micro;
        LONG utc;
    } tests[] = {
        {"20261124034512.123456+060", TRUE, TRUE, 2026, 11, 123456, 60},
        {"20261124034512.000000-480", TRUE, TRUE, 2026, 11, 0, -480},
        {"20261124******.******+***", TRUE, TRUE, 2026, 11, 0, 0},
        {"00000003041500.000001:000", TRUE, FALSE, 3, 4, 1, 0},
        {"20261124034512.123456", FALSE, FALSE, 0, 0, 0, 0},
        {"20261124034512.123456+0600", FALSE, FALSE, 0, 0, 0, 0},
        {"20261124034512.123456 060", FALSE, FALSE, 0, 0, 0, 0},
        {"2026112403451x.123456+060", FALSE, FALSE, 0, 0, 0, 0},
        {"", FALSE, FALSE, 0, 0, 0, 0},
    };

    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
    {
        WCHAR *text = wide(tests[i].text);
        struct mi_datetime date;

        check_number(tests[i].text, "read", mi_parse_datetime(text, &date), tests[i].ok);
        if (tests[i].ok)
        {
            check_number(tests[i].text, "timestamp", date.is_timestamp, tests[i].timestamp);
            check_number(tests[i].text, "year or days", tests[i].timestamp ? date.timestamp.year : date.interval.days,
                         tests[i].first);
            check_number(tests[i].text, "month or hours",
                         tests[i].timestamp ? date.timestamp.month : date.interval.hours, tests[i].second);
            check_number(tests[i].text, "microseconds",
                         tests[i].timestamp ? date.timestamp.microseconds : date.interval.microseconds, tests[i].micro);
            if (tests[i].timestamp)
                check_number(tests[i].text, "utc", date.timestamp.utc, tests[i].utc);
        }
        free(text);
    }
}

static void test_classes(void)
{
    static const struct
    {
        const char *query, *class;
    } tests[] = {
        {"SELECT * FROM Win32_Process", "Win32_Process"},
        {"select a, b from\tX where c = 1", "X"},
        {"SELECT FROM_X FROM  Y\r\nWHERE a = 2", "Y"},
        {"SELECT * FROM ", NULL},
        {"SELECT * FROM ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ", NULL},
        {"ASSOCIATORS OF {X}", NULL},
        {"", NULL},
    };
    WCHAR class[40];

    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
    {
        WCHAR *query = wide(tests[i].query);
        BOOL found = mi_class_of_query(class, 40, query);

        check_number(tests[i].query, "found", found, tests[i].class != NULL);
        if (found)
            check_wide(tests[i].query, "class", class, tests[i].class);
        free(query);
    }
}

static void test_namespaces(void)
{
    WCHAR path[20];

    check_number("root/CIMv2", "fits", mi_namespace_path(path, 20, L"root/CIMv2"), TRUE);
    check_wide("root/CIMv2", "path", path, "root\\CIMv2");
    check_number("none", "fits", mi_namespace_path(path, 20, NULL), TRUE);
    check_wide("none", "path", path, "root\\cimv2");
    check_number("a long one", "fits", mi_namespace_path(path, 20, L"root/microsoft/windows/fsrm"), FALSE);
}

/* The size of a type is what a program's variable has room for. */
static void test_types(void)
{
    static const struct
    {
        LONG cim;
        int type, size;
    } tests[] = {
        {11, MI_BOOLEAN, 1},    {17, MI_UINT8, 1},
        {2, MI_SINT16, 2},      {19, MI_UINT32, 4},
        {21, MI_UINT64, 8},     {4, MI_REAL32, 4},
        {5, MI_REAL64, 8},      {8, MI_STRING, 8},
        {101, MI_DATETIME, 36}, {0x2008, MI_STRING | MI_ARRAY, 16},
        {102, MI_REFERENCE, 8}, {999, -1, 8},
    };

    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
    {
        check_number("type", "of COM's", mi_type_of(tests[i].cim), tests[i].type);
        if (tests[i].type >= 0)
            check_number("size", "of type", (long long)mi_size_of(tests[i].type), tests[i].size);
    }
}

static void test_results(void)
{
    check_number("success", "result", mi_result_of(1), MI_RESULT_OK);
    check_number("WBEM_E_INVALID_CLASS", "result", mi_result_of((HRESULT)0x80041010), MI_RESULT_INVALID_CLASS);
    check_number("WBEM_E_INVALID_NAMESPACE", "result", mi_result_of((HRESULT)0x8004100e), MI_RESULT_INVALID_NAMESPACE);
    check_number("E_ACCESSDENIED", "result", mi_result_of((HRESULT)0x80070005), MI_RESULT_ACCESS_DENIED);
    check_number("anything else", "result", mi_result_of((HRESULT)0x80040154), MI_RESULT_FAILED);
}

int main(void)
{
    test_dates();
    test_classes();
    test_namespaces();
    test_types();
    test_results();
    return checks_end();
}
