/*
 * The way to what has a name that Windows does not have (hooks/way.c). The program is given an empty folder, in which
 * it makes a prefix.
 */
#include "way.h"

#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "path_calls.h"

static char root[512]; /* canonical */

/* Names of which a component stands for one that Windows does not have (hooks/way.c). */
static void test_way(void)
{
    HANDLE folder = (HANDLE)(INT64)(lx_openat(LX_AT_FDCWD, below(prefix, "drive_c/Users"),
                                              LX_O_PATH | LX_O_DIRECTORY | LX_O_CLOEXEC) +
                                    0x1000);
    static const struct
    {
        const char *name;
        BOOL bare;
        NTSTATUS status;
        const char *path;
    } cases[] = {
        {"\\??\\C:\\Users\\w\xef\x80\xaay", FALSE, STATUS_SUCCESS, "w*y"},
        {"\\??\\C:\\Users\\W\xef\x80\xaaY\\", FALSE, STATUS_SUCCESS, "w*y"},
        {"\\??\\C:\\Users\\w\xef\x80\xaay\\IN\xef\x83\xbf", FALSE, STATUS_SUCCESS, "w*y/in\xff"},
        {"\\??\\C:\\Users\\w\xef\x80\xaay\\new", FALSE, STATUS_NO_SUCH_FILE, "w*y/new"},
        {"\\??\\C:\\Users\\w\xef\x80\xaay\\none\\new", FALSE, STATUS_OBJECT_PATH_NOT_FOUND, NULL},
        {"\\??\\C:\\Users\\w\xef\x80\xaay\\..\\x", FALSE, STATUS_OBJECT_NAME_INVALID, NULL},
        {"\\??\\C:\\Users\\w\xef\x80\xaay\\a*b", FALSE, STATUS_OBJECT_NAME_INVALID, NULL},
        {"\\??\\C:\\none\\w\xef\x80\xaay", FALSE, STATUS_OBJECT_PATH_NOT_FOUND, NULL},
        {"w\xef\x80\xaay\\in\xef\x83\xbf", TRUE, STATUS_SUCCESS, "w*y/in\xff"},
        {"w\xef\x80\xaan", TRUE, STATUS_NO_SUCH_FILE, "w*n"},
        {"w\xef\x81\x81", TRUE, STATUS_OBJECT_NAME_INVALID, NULL}, /* stands for another name */
    };
    char *path = malloc(LINUX_PATH_MAX);
    WCHAR *name = malloc(LINUX_PATH_MAX * sizeof(WCHAR));
    ULONG room = LINUX_PATH_MAX;

    make_folder(below(prefix, "drive_c/Users/w*y"));
    make_folder(below(prefix, "drive_c/Users/w*y/in\xff"));
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        WCHAR *text = wide(cases[i].name);
        ULONG bytes = (ULONG)(wide_length(text) * sizeof(WCHAR));

        check_status(cases[i].name, "status",
                     path_of_name(cases[i].bare ? folder : NULL, text, bytes, path, LINUX_PATH_MAX), cases[i].status);
        if (cases[i].path)
            check_text(cases[i].name, "path", path, below(below(prefix, "drive_c/Users"), cases[i].path));
        free(text);
    }
    check_status("a name of NT", "status", path_to_nt(below(prefix, "drive_c/Users/w*y/in\xff/x"), name, &room),
                 STATUS_SUCCESS);
    check_wide("a name of NT", "name", name, "\\??\\C:\\Users\\w\xef\x80\xaay\\in\xef\x83\xbf\\x");
    check_number("a name of NT", "length", room, 23);
    check_number("a plain path", "differs", path_differs("/a/b c/d"), FALSE);
    lx_close((int)(INT64)folder - 0x1000);
    free(name);
    free(path);
}

int main(int argc, char **argv)
{
    must(argc == 2 && realpath(argv[1], root) != NULL, "the folder to work in");
    make_prefix(below(root, "prefix"));
    make_folder(below(prefix, "drive_c/Users"));
    test_way();
    check_number("the end", "blocks of memory left", heap_left(), 0);
    return checks_end();
}
