/* Tests of command lines (run/args.c), with the strings of run/text.c. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "run.h"

enum
{
    MOST = 6,
    FILES = 16
};

/*
 * Lines and what the C run-time library of Windows makes of them. The first six are the table of
 * https://learn.microsoft.com/en-us/cpp/c-language/parsing-c-command-line-arguments
 */
static const struct
{
    const char *line, *want[MOST];
} lines[] = {
    {"\"a b c\" d e", {"a b c", "d", "e"}},
    {"\"ab\\\"c\" \"\\\\\" d", {"ab\"c", "\\", "d"}},
    {"a\\\\\\b d\"e f\"g h", {"a\\\\\\b", "de fg", "h"}},
    {"a\\\\\\\"b c d", {"a\\\"b", "c", "d"}},
    {"a\\\\\\\\\"b c\" d e", {"a\\\\b c", "d", "e"}},
    {"a\"b\"\" c d", {"ab\" c d"}},
    {"", {0}},
    {" \t ", {0}},
    {"a", {"a"}},
    {" a\tb ", {"a", "b"}},
    {"a\nb", {"a\nb"}},
    {"\"\"", {""}},
    {"\"\" \"\"", {"", ""}},
    {"a\"\"b", {"ab"}},
    {"\"\"\"\"", {"\""}},
    {"\"\"\"a b\"\"\"", {"\"a b\""}},
    {"\"a b", {"a b"}},
    {"a b\"", {"a", "b"}},
    {"\"", {""}},
    {"\\", {"\\"}},
    {"\\\"", {"\""}},
    {"\\\\", {"\\\\"}},
    {"\\\\\"", {"\\"}},
    {"\\\\server\\share \\", {"\\\\server\\share", "\\"}},
    {"\"C:\\Program Files\\\" x", {"C:\\Program Files\" x"}},
    {"\"C:\\Program Files\\\\\" x", {"C:\\Program Files\\", "x"}},
    {"\xc3\xa4\xf0\x9f\x90\x9a \"\xe6\x97\xa5 \xe6\x9c\xac\"",
     {"\xc3\xa4\xf0\x9f\x90\x9a", "\xe6\x97\xa5 \xe6\x9c\xac"}},
};

static void test_split(void)
{
    for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++)
    {
        WCHAR *line = wide(lines[i].line), **argv;
        int want = 0, got = run_split_command_line(line, &argv);

        while (want < MOST && lines[i].want[want])
            want++;
        check_number(lines[i].line, "arguments", got, want);
        for (int j = 0; j < got && j < want; j++)
            check_wide(lines[i].line, "an argument", argv[j], lines[i].want[j]);
        free(line);
    }
}

/* The longest command line of Windows (32767 characters with its end) of one kind of character. */
static void test_split_long(void)
{
    static const struct
    {
        const char *fill;
        int want;
        SIZE_T first;
    } cases[] = {{"a", 1, 32766},  {"a ", 16383, 1},   {"\"", 1, 16383 - 1}, {"\"\" ", 10922, 0},
                 {"\\", 1, 32766}, {"\\\"", 1, 16383}, {" ", 0, 0}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        SIZE_T length = strlen(cases[i].fill);
        WCHAR *line = calloc(32767, sizeof(*line)), **argv;
        int got;

        for (SIZE_T j = 0; j < 32766; j++)
            line[j] = (WCHAR)cases[i].fill[j % length];
        got = run_split_command_line(line, &argv);
        check_number(cases[i].fill, "arguments of a long line", got, cases[i].want);
        if (got && cases[i].fill[0] != '"')
            check_number(cases[i].fill, "length of the first", (long long)run_str_len(argv[0]),
                         (long long)cases[i].first);
        free(line);
    }
}

/* The results are those of EscapeArg of golang.org/x/sys/windows (v0.47.0, exec_windows.go). */
static void test_join(void)
{
    static const struct
    {
        const char *argv[MOST], *want;
    } cases[] = {
        {{0}, ""},
        {{""}, "\"\""},
        {{"a", "", "b"}, "a \"\" b"},
        {{"a b"}, "\"a b\""},
        {{"a\tb"}, "\"a\tb\""},
        {{"a\nb"}, "a\nb"},
        {{"a\"b"}, "a\\\"b"},
        {{"a\\"}, "a\\"},
        {{"a \\"}, "\"a \\\\\""},
        {{"\\\\server\\my share\\"}, "\"\\\\server\\my share\\\\\""},
        {{"\\\""}, "\\\\\\\""},
        {{"\" \\\\\""}, "\"\\\" \\\\\\\\\\\"\""},
        {{"cmd", "/c", "echo a b"}, "cmd /c \"echo a b\""},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        WCHAR *argv[MOST];
        int argc = 0;

        for (; argc < MOST && cases[i].argv[argc]; argc++)
            argv[argc] = wide(cases[i].argv[argc]);
        check_wide(cases[i].want, "joined", run_join_command_line(argc, argv), cases[i].want);
        while (argc > 0)
            free(argv[--argc]);
    }
}

/*
 * Joined arguments are split into the same arguments again. A simple generator makes the numbers, the same each
 * time.
 */
static void test_round_trip(void)
{
    static const char letters[] = "a\\\" \t";
    unsigned number = 1;

    for (int round = 0; round < 20000; round++)
    {
        WCHAR text[3][12] = {{0}}, *argv[3] = {text[0], text[1], text[2]}, **got;
        int count;

        for (int i = 0; i < 3; i++)
        {
            number = number * 1103515245 + 12345;
            for (unsigned j = 0, length = number >> 20 & 7; j < length; j++)
            {
                number = number * 1103515245 + 12345;
                text[i][j] = (WCHAR)letters[(number >> 16) % 5];
            }
        }
        count = run_split_command_line(run_join_command_line(3, argv), &got);
        check_number("joined and split", "arguments", count, 3);
        for (int i = 0; i < 3 && i < count; i++)
            check_number("joined and split", "the same", run_str_equal(got[i], argv[i]), TRUE);
    }
}

static void test_first_word(void)
{
    static const char *const cases[][2] = {{"", ""},         {"  ", ""},     {"a", "a"},
                                           {" a b", "a"},    {"a\tb", "a"},  {"\"a b\" c", "a b"},
                                           {"\"a b", "a b"}, {"\"\" c", ""}, {"a\"b c\"", "a\"b"}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        WCHAR *line = wide(cases[i][0]);

        check_wide(cases[i][0], "first word", run_first_word(line), cases[i][1]);
        free(line);
    }
}

/* The machine that run_find_program sees: the files, the current folder C:\work, and the variables of the case. */
static const char *const files[FILES] = {"C:\\windows\\system32\\cmd.exe",
                                         "C:\\windows\\system32\\both.exe",
                                         "C:\\windows\\system32\\both.com",
                                         "C:\\work\\here.bat",
                                         "C:\\work\\plain",
                                         "C:\\work\\sub\\prog.exe",
                                         "C:\\work\\.COM",
                                         "C:\\tools\\tool.1.exe",
                                         "C:\\mount\\image\\app.exe",
                                         "C:\\root.exe",
                                         "C:\\work\\x.dll"};
static const char *path_variable, *mount_variable;

static void test_find(void)
{
    static const struct
    {
        const char *name, *path, *mount, *want;
    } cases[] = {
        {"cmd", NULL, NULL, "C:\\windows\\system32\\cmd.EXE"},
        {"cmd.exe", NULL, NULL, "C:\\windows\\system32\\cmd.exe"},
        {"both", NULL, NULL, "C:\\windows\\system32\\both.COM"},
        {"here", NULL, NULL, "C:\\work\\here.BAT"},
        {"plain", NULL, NULL, "C:\\work\\plain"},
        {"x.dll", NULL, NULL, "C:\\work\\x.dll"},
        {"sub/prog", NULL, NULL, "C:\\work\\sub\\prog.EXE"},
        {".\\sub\\prog.exe", NULL, NULL, "C:\\work\\sub\\prog.exe"},
        {"sub", NULL, NULL, NULL},
        {"nothing", "C:\\nowhere", NULL, NULL},
        {"", NULL, NULL, NULL},
        {"tool.1", ";;C:\\tools;", NULL, "C:\\tools\\tool.1.EXE"},
        {"tool.1.exe", "C:\\nowhere;\"C:\\tools\"", NULL, "C:\\tools\\tool.1.exe"},
        {"\\app.exe", NULL, "C:\\mount\\image", "C:\\mount\\image\\app.exe"},
        {"/app", NULL, "C:\\mount\\image", "C:\\mount\\image\\app.EXE"},
        {"\\root.exe", NULL, "C:\\mount\\image", "C:\\root.exe"},
        {"\\\\app.exe", NULL, "C:\\mount\\image", NULL},
        {"app.exe", NULL, "C:\\mount\\image", NULL},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        WCHAR *name = wide(cases[i].name), *got;
        DWORD error = 0;

        path_variable = cases[i].path;
        mount_variable = cases[i].mount;
        got = run_find_program(name, &error);
        check_wide(cases[i].name, "found", got, cases[i].want);
        if (!got)
            check_number(cases[i].name, "error", error, ERROR_FILE_NOT_FOUND);
        free(name);
    }
}

/*
 * A name, and a folder in PATH, longer than a path can be: GetFullPathNameW returns the size that it would need and
 * writes nothing.
 */
static void test_find_long(void)
{
    WCHAR *name = calloc(32769 + 8, sizeof(*name));
    char *path = calloc(1, 32769 + 8);
    DWORD error = 0;

    for (int i = 0; i < 32769; i++)
        name[i] = i % 100 ? 'a' : '\\';
    path_variable = mount_variable = NULL;
    check_wide("a long name", "found", run_find_program(name, &error), NULL);
    for (int i = 0; i < 32769; i++)
        name[i] = 'a';
    check_wide("a long name without a folder", "found", run_find_program(name, &error), NULL);
    memset(path, 'b', 32769);
    path_variable = path;
    check_wide("a long folder in PATH", "found", run_find_program(L"nothing", &error), NULL);
    mount_variable = path;
    check_wide("a long mount point", "found", run_find_program(L"\\nothing", &error), NULL);
    free(path);
    free(name);
}

int main(void)
{
    test_split();
    test_split_long();
    test_join();
    test_round_trip();
    test_first_word();
    test_find();
    test_find_long();
    return checks_end();
}

/* The calls of kernel32.dll. */
DWORD GetEnvironmentVariableW(const WCHAR *name, WCHAR *value, DWORD room)
{
    const char *text = run_str_equal(name, L"PATH")                            ? path_variable
                       : run_str_equal(name, L"CONTAINER_SANDBOX_MOUNT_POINT") ? mount_variable
                                                                               : NULL;
    WCHAR *made = wide(text ? text : "");
    DWORD length = (DWORD)run_str_len(made);

    if (length < room)
        run_str_copy(value, made);
    free(made);
    return !text ? 0 : length < room ? length : length + 1;
}

static BOOL same(const WCHAR *path, const char *file)
{
    WCHAR *other = wide(file);
    BOOL equal = run_str_casecmp(path, other) == 0;

    free(other);
    return equal;
}

DWORD GetFileAttributesW(const WCHAR *path)
{
    WCHAR full[64];
    DWORD attributes = INVALID_FILE_ATTRIBUTES;

    if (GetFullPathNameW(path, 64, full, NULL) >= 64)
        return attributes;
    for (int i = 0; i < FILES && files[i]; i++)
        if (same(full, files[i]))
            attributes = 0x20; /* FILE_ATTRIBUTE_ARCHIVE */
    return same(full, "C:\\work\\sub") ? FILE_ATTRIBUTE_DIRECTORY : attributes;
}

/* A pattern is a path with a star at its end. */
HANDLE FindFirstFileW(const WCHAR *pattern, WIN32_FIND_DATAW *data)
{
    SIZE_T length = run_str_len(pattern) - 1;
    HANDLE found = INVALID_HANDLE_VALUE;
    WCHAR beginning[64];

    (void)data;
    if (length >= 64)
        return found;
    memcpy(beginning, pattern, length * sizeof(WCHAR));
    beginning[length] = 0;
    for (int i = 0; i < FILES && files[i]; i++)
    {
        WCHAR *file = wide(files[i]);

        if (run_str_case_prefix(file, beginning))
            found = (HANDLE)1;
        free(file);
    }
    return found;
}

BOOL FindClose(HANDLE find)
{
    check_number("FindClose", "handle", (DWORD)(ULONG_PTR)find, 1);
    return TRUE;
}

/* Every relative name is below the current folder; "\.\" is removed from names. */
DWORD GetFullPathNameW(const WCHAR *name, DWORD room, WCHAR *path, WCHAR **file)
{
    const WCHAR *before = name[0] && name[1] == ':'            ? L""
                          : name[0] == '\\' && name[1] == '\\' ? L""
                          : name[0] == '\\'                    ? L"C:"
                                                               : L"C:\\work\\";
    DWORD length = (DWORD)(run_str_len(before) + run_str_len(name));
    WCHAR *out;

    (void)file;
    if (length >= room)
        return length + 1;
    run_str_copy(path, before);
    run_str_copy(path + run_str_len(before), name);
    for (out = path, name = path; *name; *out++ = *name++)
        while (name[0] == '\\' && name[1] == '.' && name[2] == '\\')
            name += 2;
    *out = 0;
    return (DWORD)(out - path);
}

int CompareStringOrdinal(const WCHAR *a, int a_length, const WCHAR *b, int b_length, BOOL ignore_case)
{
    for (int i = 0;; i++)
    {
        BOOL a_ends = a_length < 0 ? !a[i] : i >= a_length, b_ends = b_length < 0 ? !b[i] : i >= b_length;
        int c, d;

        if (a_ends || b_ends)
            return CSTR_EQUAL + b_ends - a_ends;
        c = ignore_case && a[i] >= 'a' && a[i] <= 'z' ? a[i] - 32 : a[i];
        d = ignore_case && b[i] >= 'a' && b[i] <= 'z' ? b[i] - 32 : b[i];
        if (c != d)
            return c < d ? CSTR_EQUAL - 1 : CSTR_EQUAL + 1;
    }
}

void ExitProcess(UINT code)
{
    exit((int)code);
}

DWORD FormatMessageW(DWORD flags, const void *source, DWORD code, DWORD language, WCHAR *text, DWORD room,
                     void *arguments)
{
    (void)flags, (void)source, (void)code, (void)language, (void)text, (void)room, (void)arguments;
    return 0;
}
