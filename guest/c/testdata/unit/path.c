/*
 * Names and links (hooks/path.c): what the text of a Linux link means to Windows programs, and the text of a link that
 * one of them makes. The program is given an empty folder, in which it makes a prefix: <folder>/prefix/drive_c and
 * <folder>/prefix/dosdevices/c:.
 */
#include "path.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "path_calls.h"

static char root[512]; /* canonical */

static struct place place_at(const char *path)
{
    struct place place;

    check_status(path, "place", path_place_open(path, &place), STATUS_SUCCESS);
    return place;
}

/* What programs see of an existing link: without the marks of folders, and with drives in upper case. */
static void test_target(void)
{
    static const struct
    {
        const char *text, *want;
        BOOL relative, junction;
    } cases[] = {
        {"..data", "..data", TRUE, FALSE},
        {"..2026_01_01/x", "..2026_01_01\\x", TRUE, FALSE},
        {"../../x/../y", "..\\..\\x\\..\\y", TRUE, FALSE},
        {".", ".", TRUE, FALSE},
        {"..", "..", TRUE, FALSE},
        {"folder/", "folder", TRUE, FALSE},
        {"abc/", "abc", TRUE, FALSE},
        {"ab/", "ab", TRUE, FALSE},
        {"a/", "a", TRUE, FALSE},
        {"../", "..", TRUE, FALSE},
        {"a b:c/d",
         "a b\xef\x80\xba"
         "c\\d",
         TRUE, FALSE},
        {"..\\v/a*b",
         "..\xef\x81\x9cv\\a\xef\x80\xaa"
         "b",
         TRUE, FALSE},
        {"\xc3\xa4/\xf0\x9f\x90\x9a", "\xc3\xa4\\\xf0\x9f\x90\x9a", TRUE, FALSE},
        {"a\xff", "a\xef\x83\xbf", TRUE, FALSE},
        {"../../dosdevices/c:/x/y", "C:\\x\\y", FALSE, FALSE},
        {"../dosdevices/./c:/x", "C:\\x", FALSE, TRUE},
        {"dosdevices/c:/x/", "C:\\x", FALSE, FALSE},
        {"dosdevices/z:/x", "Z:\\x", FALSE, FALSE},
        {"dosdevices/c:", "C:\\", FALSE, FALSE},
        {"dosdevices/c:/", "C:\\", FALSE, FALSE},
        {"dosdevices/./c:", "C:\\", FALSE, TRUE},
        {"../../dosdevices/unc/server/share", "\\\\server\\share", FALSE, FALSE},
        {"dosdevices/unc/server/share/a/b//", "\\\\server\\share\\a\\b", FALSE, FALSE},
        {"../../dosdevices/./volume{0d1cbb58-0000-0000-0000-100000000000}/",
         "Volume{0d1cbb58-0000-0000-0000-100000000000}\\", FALSE, TRUE},
        {"dosdevices/volume{0d1cbb58-0000-0000-0000-100000000000}/a/",
         "Volume{0d1cbb58-0000-0000-0000-100000000000}\\a", FALSE, FALSE},
        {"dosdevices/volume{0d1cbb58}/a", "dosdevices\\volume{0d1cbb58}\\a", TRUE, FALSE},
        {"dosdevices/unc/", "\\\\", FALSE, FALSE},
        {"dosdevices/./unc/server/share", "dosdevices\\.\\unc\\server\\share", TRUE, FALSE},
        {"dosdevices/unc", "dosdevices\\unc", TRUE, FALSE},
        {"dosdevices/c:/../../x", "C:\\..\\..\\x", FALSE, FALSE},
        {"dosdevices/C:/x", "dosdevices\\C\xef\x80\xba\\x", TRUE, FALSE},
        {"dosdevices/cc:/x", "dosdevices\\cc\xef\x80\xba\\x", TRUE, FALSE},
        {"dosdevices/c:x", "dosdevices\\c\xef\x80\xbax", TRUE, FALSE},
        {"dosdevices", "dosdevices", TRUE, FALSE},
        {"dosdevices/.", "dosdevices\\.", TRUE, FALSE},
        {"x/../dosdevices/c:/y", "x\\..\\dosdevices\\c\xef\x80\xba\\y", TRUE, FALSE},
        {"..../dosdevices/c:/y", "...\xef\x80\xae\\dosdevices\\c\xef\x80\xba\\y", TRUE, FALSE},
        {"", "", TRUE, FALSE},
        {"/outside", "_:\\outside", FALSE, FALSE},
        {"/", "_:\\", FALSE, FALSE},
        {"/../x/", "_:\\..\\x\\", FALSE, FALSE},
        {"/C:/windows", "_:\\C\xef\x80\xba\\windows", FALSE, FALSE},
        {"/a\\..\\..\\b",
         "_:\\a\xef\x81\x9c..\xef\x81\x9c..\xef\x81\x9c"
         "b",
         FALSE, FALSE},
    };
    struct target *target = malloc(sizeof(*target));

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        linktext_to_target(cases[i].text, target);
        check_wide(cases[i].text, "target", target->name, cases[i].want);
        check_number(cases[i].text, "relative", target->relative, cases[i].relative);
        check_number(cases[i].text, "junction", target->junction, cases[i].junction);
    }
    linktext_to_target(below(prefix, "drive_c/x"), target);
    check_wide("into a drive", "target", target->name, "C:\\x");
    free(target);
}

/* The longest texts that Linux allows: 4095 bytes. */
static void test_target_long(void)
{
    static const struct
    {
        const char *head, *fill;
    } cases[] = {{"", "a"},
                 {"a", "/"},
                 {"", "../"},
                 {"", "\xff"},
                 {"", "\xe6\x97\xa5"},
                 {"dosdevices/c:/", "b"},
                 {"/", "o"},
                 {"../dosdevices/./c:", "/"}};
    struct target *target = malloc(sizeof(*target));
    char *text = malloc(LINUX_PATH_MAX);

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        SIZE_T at = strlen(cases[i].head), length = strlen(cases[i].fill);

        strcpy(text, cases[i].head);
        for (SIZE_T j = 0; at < LINUX_PATH_MAX - 1; j++)
            text[at++] = cases[i].fill[j % length];
        text[at] = 0;
        linktext_to_target(text, target);
        check_number(cases[i].fill, "a long target ends", wide_length(target->name) < LINUX_PATH_MAX, TRUE);
    }
    free(text);
    free(target);
}

/* The texts of links in drive_c/Users. C:\Users\Admin and C:\Users\Admin\Data.txt exist. */
static const struct
{
    const char *name, *want;
    BOOL junction, directory;
    NTSTATUS status;
} texts[] = {
    {"x", "x", FALSE, FALSE, 0},
    {"x", "x/", FALSE, TRUE, 0},
    {"Admin", "Admin", FALSE, TRUE, 0},
    {"ADMIN\\data.TXT", "Admin/Data.txt", FALSE, FALSE, 0},
    {"admin/none", "Admin/none", FALSE, FALSE, 0},
    {"..\\USERS\\admin", "../Users/Admin", FALSE, FALSE, 0},
    {"..\\..\\..\\x", "../../../x", FALSE, FALSE, 0},
    {".", ".", FALSE, TRUE, 0},
    {"a\\\\b\\", "a//b/", FALSE, FALSE, 0},
    {"\xc3\xa4\\\xf0\x9f\x90\x9a", "\xc3\xa4/\xf0\x9f\x90\x9a", FALSE, FALSE, 0},
    {"C:\\x", "../../dosdevices/c:/x", FALSE, FALSE, 0},
    {"c:\\USERS\\ADMIN\\", "../../dosdevices/c:/Users/Admin", FALSE, TRUE, 0},
    {"C:\\none\\", "../../dosdevices/c:/none/", FALSE, TRUE, 0},
    {"C:\\", "../../dosdevices/c:/", FALSE, FALSE, 0},
    {"C:\\..\\..\\x", "../../dosdevices/c:/../../x", FALSE, FALSE, 0},
    {"\\??\\C:\\x", "../../dosdevices/./c:/x", TRUE, FALSE, 0},
    {"\\\\?\\C:\\x", "../../dosdevices/c:/x", FALSE, FALSE, 0},
    {"\\x", "../../dosdevices/c:/x", FALSE, FALSE, 0},
    {"\\USERS\\admin", "../../dosdevices/c:/Users/Admin", FALSE, FALSE, 0},
    {"\\", "../../dosdevices/c:/", FALSE, FALSE, 0},
    {"\\\\Server\\Share", "../../dosdevices/unc/server/share", FALSE, FALSE, 0},
    {"\\??\\UNC\\server\\SHARE\\A\\b\\", "../../dosdevices/unc/server/share/A/b/", FALSE, TRUE, 0},
    {"\\\\?\\unc\\server\\share", "../../dosdevices/unc/server/share/", FALSE, TRUE, 0},
    {"\\\\\xc3\x84\\share", "../../dosdevices/unc/\xc3\xa4/share", FALSE, FALSE, 0},
    {"\\\\server", NULL, FALSE, FALSE, STATUS_OBJECT_NAME_INVALID},
    {"\\??\\UNC\\server\\share", NULL, TRUE, FALSE, STATUS_NOT_SUPPORTED},
    {"\\\\.\\pipe\\x", NULL, FALSE, FALSE, STATUS_NOT_SUPPORTED},
    {"\\??\\Volume{0D1cbb58-0000-0000-0000-100000000000}\\",
     "../../dosdevices/./volume{0d1cbb58-0000-0000-0000-100000000000}/", TRUE, FALSE, 0},
    {"\\\\?\\Volume{0d1cbb58-0000-0000-0000-100000000000}\\A",
     "../../dosdevices/volume{0d1cbb58-0000-0000-0000-100000000000}/A", FALSE, FALSE, 0},
    {"\\??\\Volume{0d1cbb58-0000-0000-0000-10000000000}\\", NULL, TRUE, FALSE, STATUS_NOT_SUPPORTED},
    {"\\??\\Volume{0d1cbb58-0000-0000-0000-100000000000}x", NULL, TRUE, FALSE, STATUS_NOT_SUPPORTED},
    {"\\??\\Volume{", NULL, TRUE, FALSE, STATUS_NOT_SUPPORTED},
    {"relative", NULL, TRUE, FALSE, STATUS_NOT_SUPPORTED},
    {"", NULL, FALSE, FALSE, STATUS_OBJECT_NAME_INVALID},
    {"\\??\\", NULL, FALSE, FALSE, STATUS_OBJECT_NAME_INVALID},
};

/* A long path with many ..: every part gets the spelling on disk. */
static void test_up_and_down(const struct place *place)
{
    char name[700] = "C:", want[700] = "../../dosdevices/c:", *text = malloc(LINUX_PATH_MAX);
    WCHAR *target;

    for (int i = 0; i < 37; i++)
    {
        strcat(name, "\\USERS\\ADMIN\\..\\..");
        strcat(want, "/Users/Admin/../..");
    }
    target = wide(name);
    check_status("up and down", "status", linktext_of_target(place, target, FALSE, FALSE, text), STATUS_SUCCESS);
    check_text("up and down", "text", text, want);
    free(target);
    free(text);
}

static void test_text(void)
{
    struct target *target = malloc(sizeof(*target));
    struct place place;

    make_folder(below(prefix, "drive_c/Users"));
    make_folder(below(prefix, "drive_c/Users/Admin"));
    must(!symlink("nowhere", below(prefix, "drive_c/Users/Admin/Data.txt")), "make Data.txt");
    place = place_at(below(prefix, "drive_c/Users/link"));
    for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++)
    {
        char *text = malloc(LINUX_PATH_MAX);
        WCHAR *name = wide(texts[i].name);
        NTSTATUS status = linktext_of_target(&place, name, texts[i].junction, texts[i].directory, text);

        check_status(texts[i].name, "status", status, texts[i].status);
        check_text(texts[i].name, "text", status ? NULL : text, texts[i].want);
        if (!status)
        {
            linktext_to_target(text, target);
            check_number(texts[i].name, "reads as a junction", target->junction, texts[i].junction);
        }
        free(name);
        free(text);
    }
    test_up_and_down(&place);
    path_place_close(&place);
    check_number("closed", "folder", place.dir, -1);
    path_place_close(&place);
    free(target);
}

/* Names of this many characters, each of three bytes in UTF-8. */
static void test_text_long(void)
{
    static const struct
    {
        ULONG length;
        NTSTATUS want;
    } cases[] = {{682, 0}, {683, STATUS_OBJECT_NAME_INVALID}, {40000, STATUS_OBJECT_NAME_INVALID}};
    struct place place = place_at(below(prefix, "drive_c/link"));

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int drive = 0; drive < 2; drive++)
        {
            WCHAR *name = calloc(cases[i].length + 1, sizeof(*name));
            char *text = malloc(LINUX_PATH_MAX);

            for (ULONG j = 0; j < cases[i].length; j++)
                name[j] = j % 50 ? 0x65e5 : '\\';
            memcpy(name, drive ? L"C:" : L"xx", 2 * sizeof(*name));
            check_status(drive ? "a long name on a drive" : "a long name", "status",
                         linktext_of_target(&place, name, FALSE, TRUE, text), cases[i].want);
            free(text);
            free(name);
        }
    path_place_close(&place);
}

static void test_move(void)
{
    static const struct
    {
        const char *text, *want;
    } cases[] = {{"a/b", "a/b"},
                 {"../x", "../x"},
                 {"dosdevices/c:/x", "../../dosdevices/c:/x"},
                 {"../../../../dosdevices/./c:/x/", "../../dosdevices/./c:/x/"},
                 {"dosdevices/unc/server/share/x", "../../dosdevices/unc/server/share/x"},
                 {"/dosdevices/c:/x", "/dosdevices/c:/x"},
                 {"", ""}};
    struct place to = place_at(below(prefix, "drive_c/Users/moved"));
    char *moved = malloc(LINUX_PATH_MAX), *text = malloc(LINUX_PATH_MAX);

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        linktext_move(cases[i].text, &to, moved);
        check_text(cases[i].text, "moved", moved, cases[i].want);
    }
    memset(text, 'x', LINUX_PATH_MAX - 1); /* the longest link of a Linux program: its new text would be too long */
    memcpy(text, "dosdevices/c:/", 14);
    text[LINUX_PATH_MAX - 1] = 0;
    linktext_move(text, &to, moved);
    check_text("the longest text", "moved", moved, text);
    path_place_close(&to);
    free(text);
    free(moved);
}

/*
 * A prefix and a folder, both many levels deep: the relative path from one to the other is longer than a link's
 * text.
 */
static void test_far(void)
{
    static char path[ROOM], name[201];
    struct place place;
    char *text = malloc(LINUX_PATH_MAX), *moved = malloc(LINUX_PATH_MAX);
    WCHAR *target = calloc(683, sizeof(*target));

    memset(name, 'p', 200);
    strcpy(path, below(root, "far"));
    make_folder(path);
    for (int i = 0; i < 17; i++)
    {
        strcat(strcat(path, "/"), name);
        make_folder(path);
    }
    make_prefix(below(path, "prefix"));
    strcpy(path, root);
    while (strlen(path) < 900)
        make_folder(strcat(path, "/d"));
    place = place_at(below(path, "link"));
    for (int i = 0; i < 682; i++)
        target[i] = 0x65e5;
    memcpy(target, L"C:\\", 3 * sizeof(*target));
    check_status("far away", "status of a long name", linktext_of_target(&place, target, TRUE, TRUE, text),
                 STATUS_OBJECT_NAME_INVALID);
    check_status("far away", "status of a short name", linktext_of_target(&place, L"C:\\x", TRUE, TRUE, text),
                 STATUS_OBJECT_NAME_INVALID);
    linktext_move("dosdevices/c:/x", &place, moved);
    check_text("far away", "moved", moved, "dosdevices/c:/x");
    path_place_close(&place);
    free(target);
    free(moved);
    free(text);
}

static void test_place(void)
{
    static const struct
    {
        const char *path;
        NTSTATUS want;
        const char *name;
    } cases[] = {{"/tmp", 0, "tmp"},
                 {"/tmp///", 0, "tmp"},
                 {"/", STATUS_OBJECT_NAME_INVALID, NULL},
                 {"//", STATUS_OBJECT_NAME_INVALID, NULL},
                 {"", STATUS_OBJECT_NAME_INVALID, NULL},
                 {"relative", STATUS_OBJECT_NAME_INVALID, NULL},
                 {"/nowhere at all/x", STATUS_OBJECT_NAME_NOT_FOUND, NULL},
                 {"/dev/null/x", STATUS_OBJECT_PATH_NOT_FOUND, NULL}};
    char long_name[300] = "/tmp/";

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        struct place place = {-1, ""};

        check_status(cases[i].path, "status", path_place_open(cases[i].path, &place), cases[i].want);
        if (!cases[i].want)
            check_text(cases[i].path, "name", place.name, cases[i].name);
        path_place_close(&place);
    }
    for (int length = 254; length <= 257; length++)
    {
        struct place place = {-1, ""};

        memset(long_name + 5, 'n', (SIZE_T)length);
        long_name[5 + length] = 0;
        check_status("a long name", "status", path_place_open(long_name, &place),
                     length < 256 ? STATUS_SUCCESS : STATUS_OBJECT_NAME_INVALID);
        path_place_close(&place);
    }
}

/* Conversion in both directions: characters without room are left out, and nothing is written beyond the room. */
static void test_text_forms(void)
{
    static const WCHAR alone[] = {'a', 0xd83d, 'b', 0}; /* half of a pair */
    char text[8];
    WCHAR name[4];

    check_number("three characters", "bytes", path_utf8_of(L"a\x00e4\x65e5", 6, text, sizeof(text)), 6);
    check_text("three characters", "text", text, "a\xc3\xa4\xe6\x97\xa5");
    check_number("no room for the last", "bytes", path_utf8_of(L"a\x00e4\x65e5", 6, text, 6), 3);
    check_text("no room for the last", "text", text, "a\xc3\xa4");
    check_number("half a pair", "bytes", path_utf8_of(alone, 6, text, sizeof(text)), 5);
    check_number("nothing", "bytes", path_utf8_of(L"", 0, text, 1), 0);
    check_number("four characters", "characters", path_utf16_of("abcd", 4, name, 4), 4);
    check_number("five characters", "characters", path_utf16_of("abcde", 5, name, 4), 4);
    check_number("no terminator", "characters", path_utf16_of("ab\xc3", 2, name, 4), 2);
    check_number("case", "same", path_same_name(L"C:\\\x00c4x", L"c:\\\x00e4X", 5), TRUE);
    check_number("another name", "same", path_same_name(L"ab", L"ac", 2), FALSE);
    check_number("counted", "same", path_same_name(L"ab", L"ac", 1), TRUE);
}

/* Names of the native API: relative to a folder's handle, with a length instead of a terminator, of any length. */
static void test_path_of(void)
{
    char *path = malloc(LINUX_PATH_MAX), *small = malloc(16);
    HANDLE folder = (HANDLE)(INT64)(lx_openat(LX_AT_FDCWD, below(prefix, "drive_c/Users"),
                                              LX_O_PATH | LX_O_DIRECTORY | LX_O_CLOEXEC) +
                                    0x1000);
    static WCHAR many[4000];

    check_status("absolute", "status", path_of_name(NULL, L"\\??\\C:\\Users\\Admin", 36, path, LINUX_PATH_MAX),
                 STATUS_SUCCESS);
    check_text("absolute", "path", path, below(prefix, "dosdevices/c:/Users/Admin"));
    check_status("counted", "status", path_of_name(NULL, L"\\??\\C:\\Users\\Admin", 24, path, LINUX_PATH_MAX),
                 STATUS_SUCCESS);
    check_text("counted", "path", path, below(prefix, "dosdevices/c:/Users"));
    check_status("below a handle", "status", path_of_name(folder, L"Admin", 10, path, LINUX_PATH_MAX), STATUS_SUCCESS);
    check_text("below a handle", "path", path, below(prefix, "drive_c/Users/Admin"));
    check_status("new below a handle", "status", path_of_name(folder, L"new", 6, path, LINUX_PATH_MAX),
                 STATUS_NO_SUCH_FILE);
    check_text("new below a handle", "path", path, below(prefix, "drive_c/Users/new"));
    check_status("nothing", "status", path_of_name(folder, L"", 0, path, LINUX_PATH_MAX), STATUS_OBJECT_NAME_INVALID);
    check_status("no such folder", "status", path_of_name(folder, L"none\\x", 12, path, LINUX_PATH_MAX),
                 STATUS_OBJECT_PATH_NOT_FOUND);
    check_status("no handle", "status", path_of_name((HANDLE)(INT64)(900 + 0x1000), L"x", 2, path, LINUX_PATH_MAX),
                 STATUS_INVALID_HANDLE);
    for (int i = 0; i < 4000; i++)
        many[i] = i % 100 ? 'm' : '\\';
    check_status("64 KiB and more", "status",
                 path_of_name(NULL, L"\\??\\C:\\Users\\Admin", 0x10000 + 36, path, LINUX_PATH_MAX),
                 STATUS_OBJECT_NAME_INVALID);
    check_number("a long name", "refused", path_of_name(folder, many + 1, 7998, path, LINUX_PATH_MAX) < 0, TRUE);
    check_number("little room", "refused", path_of_name(NULL, L"\\??\\C:\\Users\\Admin", 36, small, 16) < 0, TRUE);
    check_number("little room below a handle", "refused", path_of_name(folder, L"Admin", 10, small, 16) < 0, TRUE);
    check_status("by its Win32 name", "status", path_of_dos(L"C:\\Users", path, LINUX_PATH_MAX), STATUS_SUCCESS);
    check_text("by its Win32 name", "path", path, below(prefix, "dosdevices/c:/Users"));
    check_status("a Win32 name that is none", "status", path_of_dos(L"", path, LINUX_PATH_MAX),
                 STATUS_OBJECT_PATH_NOT_FOUND);
    free(small);
    free(path);
    lx_close((int)(INT64)folder - 0x1000);
}

int main(int argc, char **argv)
{
    must(argc == 2 && realpath(argv[1], root) != NULL, "the folder to work in");
    make_prefix(below(root, "prefix"));
    test_target();
    test_target_long();
    test_text();
    test_text_long();
    test_move();
    test_place();
    test_text_forms();
    test_path_of();
    test_far();
    check_number("the end", "blocks of memory left", heap_left(), 0);
    return checks_end();
}
