/* Names of Linux that Windows does not have (hooks/names.c): each has exactly one name, which leads back to it. */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static void test_cases(void)
{
    static const struct
    {
        const char *disk, *want;
    } cases[] = {
        {"plain", "plain"},
        {"a*b", "a\xef\x80\xaa"
                "b"},
        {"a\\b", "a\xef\x81\x9c"
                 "b"},
        {"..\\v", "..\xef\x81\x9cv"},
        {"?<>|\":", "\xef\x80\xbf\xef\x80\xbc\xef\x80\xbe\xef\x81\xbc\xef\x80\xa2\xef\x80\xba"},
        {"\x01\x1f", "\xef\x80\x81\xef\x80\x9f"},
        {"\x7f", "\x7f"},
        {"dot.", "dot\xef\x80\xae"},
        {"space ", "space\xef\x80\xa0"},
        {" . x", " . x"},
        {"...", "..\xef\x80\xae"},
        {".", "."},
        {"..", ".."},
        {"\xff", "\xef\x83\xbf"},
        {"\xc3", "\xef\x83\x83"},
        {"\xc3\xa4", "\xc3\xa4"},
        {"\xed\xa0\x80", "\xef\x83\xad\xef\x82\xa0\xef\x82\x80"},
        {"\xc0\xaf", "\xef\x83\x80\xef\x82\xaf"},
        {"\xf4\x90\x80\x80", "\xef\x83\xb4\xef\x82\x90\xef\x82\x80\xef\x82\x80"},
        {"\xf0\x9f\x90\x9a", "\xf0\x9f\x90\x9a"},
        {"\xef\x80\xaa", "\xef\x83\xaf\xef\x82\x80\xef\x82\xaa"}, /* U+F02A itself */
        {"\xef\x80\xaf", "\xef\x80\xaf"},                         /* no name has the byte that it would stand for */
        {"\xef\x80\x80", "\xef\x80\x80"},
        {"con", "\xef\x81\xa3on"},
        {"NUL.txt", "\xef\x81\x8eUL.txt"},
        {"aux .x", "\xef\x81\xa1ux .x"},
        {"com9", "\xef\x81\xa3om9"},
        {"lpt1", "\xef\x81\xacpt1"},
        {"conin$", "\xef\x81\xa3onin$"},
        {"com0", "com0"},
        {"cone", "cone"},
        {"lom1", "lom1"},
        {"cpt1", "cpt1"},
        {"co", "co"},
        {"", ""},
    };
    WCHAR name[NAME_ROOM];
    char back[NAME_ROOM];

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        ULONG length = name_from_linux(cases[i].disk, name);

        check_wide(cases[i].disk, "name", name, cases[i].want);
        check_number(cases[i].disk, "leads back", name_to_linux(name, length, back), TRUE);
        check_text(cases[i].disk, "back", back, cases[i].disk);
        check_number(cases[i].disk, "stands", name_stands(name, length), strcmp(cases[i].disk, cases[i].want) != 0);
    }
}

/* Names that no name of Linux has: another name stands for the same bytes, or they are paths. */
static void test_none(void)
{
    static const char *const names[] = {"\xef\x81\x81",
                                        "x\xef\x80\xae"
                                        "y",
                                        "\xef\x83\x83\xef\x82\xa4",
                                        "\xef\x81\xa3on1",
                                        "\xef\x80\xae",
                                        "a/b",
                                        "../x\xef\x80\xaa",
                                        "a\\b"};
    char disk[NAME_ROOM], long_one[400];
    WCHAR *name;

    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
    {
        name = wide(names[i]);
        check_number(names[i], "leads back", name_to_linux(name, (ULONG)wide_length(name), disk), FALSE);
        free(name);
    }
    memset(long_one, 'l', sizeof(long_one));
    long_one[256] = 0;
    name = wide(long_one);
    check_number("256 characters", "leads back", name_to_linux(name, 256, disk), FALSE);
    check_number("255 characters", "leads back", name_to_linux(name, 255, disk), TRUE);
    free(name);
}

/* Whatever bytes a name has: one name stands for it, which Windows has, and no other name's. */
static void test_any(void)
{
    char disk[NAME_ROOM], back[NAME_ROOM];
    WCHAR name[NAME_ROOM];

    srandom(1);
    for (unsigned round = 0; round < 200000; round++)
    {
        ULONG bytes = 1 + (ULONG)random() % (round % 100 ? 6 : 255), length;

        for (ULONG i = 0; i < bytes; i++)
            do
                disk[i] = (char)(random() % 4 ? random() % 256 : "\\*?.: \xef\x80\x82\xaf con"[random() % 14]);
            while (!disk[i] || disk[i] == '/');
        disk[bytes] = 0;
        if (!strcmp(disk, ".") || !strcmp(disk, ".."))
            continue;
        length = name_from_linux(disk, name);
        if (!name_to_linux(name, length, back) || strcmp(back, disk))
            check_text("random", "back", back, disk);
        for (ULONG i = 0; i < length; i++)
            if (name[i] < 0x20 || (name[i] < 0x80 && strchr("\\/*?|<>\":", name[i])))
                check_number(disk, "a character that Windows lacks", name[i], 0);
        if (name[length - 1] == '.' || name[length - 1] == ' ' || length > bytes)
            check_number(disk, "the end of the name", name[length - 1], 0);
    }
}

static void test_paths(void)
{
    WCHAR names[64], *name;
    char path[64];

    names_from_path("a*b/../c\\d/", names, 64);
    check_wide("a path", "names", names,
               "a\xef\x80\xaa"
               "b\\..\\c\xef\x81\x9c"
               "d\\");
    check_number("a path", "length", names_to_path(names, (ULONG)wide_length(names), path, 64), 11);
    check_text("a path", "back", path, "a*b/../c\\d/");
    check_number("little room", "length", names_from_path("abc/def", names, 6), 5);
    check_wide("little room", "names", names, "abc\\d");
    name = wide("abc\xc3\xa4");
    check_number("little room", "bytes", names_to_path(name, 4, path, 5), 3);
    free(name);
}

/* Wine's own names of what has another one here. */
static void test_wine(void)
{
    static const char *const differ[] = {
        "a*b", "a\xef\xbf\xbd", "x.", "con", "\xef\x80\xaa", "a:b", "con                    .x"};
    static const char *const same[] = {
        ".", "..", "plain", "\xc3\xa4", "a.b", "\xf0\x9f\x90\x9a", "con                    x"};
    WCHAR *name;

    for (unsigned i = 0; i < 14; i++)
    {
        const char *text = i < 7 ? differ[i] : same[i - 7];

        name = wide(text);
        check_number(text, "differs", name_of_wine_differs(name, (ULONG)wide_length(name)), i < 7);
        if (i != 7 && i != 8)
            check_number(text, "differs on Linux", name_differs(text), i < 7);
        free(name);
    }
}

int main(void)
{
    test_cases();
    test_none();
    test_any();
    test_paths();
    test_wine();
    return checks_end();
}
