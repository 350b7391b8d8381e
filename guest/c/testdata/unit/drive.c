/*
 * Names that lead out of the drives (hooks/drive.c). The program is given an empty folder, in which it makes a prefix
 * with the drives C: and D:, and beside it a folder that is on no drive.
 */
#include "drive.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "path_calls.h"

#define OUT STATUS_OBJECT_PATH_NOT_FOUND
#define LOOP STATUS_REPARSE_POINT_NOT_RESOLVED

static char root[512]; /* canonical */

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    must(file && !fclose(file), path);
}

static void make_link(const char *text, const char *name)
{
    must(!symlink(text, below(below(prefix, "drive_c"), name)), name);
}

static void make_links(void)
{
    static const char *const to_outside[][2] = {
        {"out-file", "outside/file"},
        {"out-folder", "outside/folder"},
        {"out-none", "outside/none"},
        {"out-none-below", "outside/none/none"},
        {"out-back", "outside/back"},
        {"in-file", "prefix/drive_c/file"},
        {"in-folder", "prefix/drive_c/folder"},
        {"in-none", "prefix/drive_c/none"},
        {"to-d", "other/file"},
        {"to-d-none", "other/none"},
        {"dosdevices", "prefix/dosdevices/c:/file"},
        {"beside", "prefix/drive_c-too/file"},
        {"registry", "prefix/system.reg"},
    };
    static const char *const links[][2] = {
        {"file-link", "file"},
        {"folder-link", "folder"},
        {"none-link", "none"},
        {"none-folder", "none/"},
        {"device", "../dosdevices/c:/folder"},
        {"device-none", "../dosdevices/c:/none/"},
        {"climb", "../../outside/folder"},
        {"climb-none", "../../outside/none"},
        {"climb-prefix", ".."},
        {"climb-back", "../drive_c/folder"},
        {"chain", "chain-2"},
        {"chain-2", "out-folder"},
        {"chain-none", "out-none"},
        {"loop", "loop-2"},
        {"loop-2", "loop"},
        {"magic", "/proc/self/root/etc"},
        {"magic-none", "/proc/self/cwd/none"},
        {"folder/up", "../folder"},
        {"folder/out", "../../../outside"},
        {"o*ut", "../../outside/folder"},
        {"o\\in", "folder"},
    };

    for (unsigned i = 0; i < sizeof(links) / sizeof(*links); i++)
        make_link(links[i][1], links[i][0]);
    for (unsigned i = 0; i < sizeof(to_outside) / sizeof(*to_outside); i++)
        make_link(below(root, to_outside[i][1]), to_outside[i][0]);
    must(!symlink("../prefix/drive_c/folder", below(root, "outside/back")), "link back");
}

/* What names below C:\ lead to: when the last component is followed, and when it is not. */
static const struct
{
    const char *name;
    NTSTATUS follow, stay;
} names[] = {
    {"", 0, 0},
    {"\\", 0, 0},
    {"file", 0, 0},
    {"\\file", 0, 0},
    {"folder\\", 0, 0},
    {"none", 0, 0},
    {"none\\none", 0, 0},
    {"file\\none", 0, 0},
    {"file-link", 0, 0},
    {"folder-link\\none", 0, 0},
    {"none-link", 0, 0},
    {"none-folder", 0, 0},
    {"device\\inner", 0, 0},
    {"device-none", 0, 0},
    {"in-file", 0, 0},
    {"in-folder\\inner", 0, 0},
    {"in-none", 0, 0},
    {"in-none\\none", 0, 0},
    {"to-d", 0, 0},
    {"to-d-none", 0, 0},
    {"dosdevices", 0, 0},
    {"climb-back\\inner", 0, 0},
    {"folder\\up\\up\\up\\inner", 0, 0},
    {"out-back\\inner", 0, 0},
    {"out-file", OUT, 0},
    {"out-folder", OUT, 0},
    {"out-folder\\", OUT, 0},
    {"out-folder\\inner", OUT, OUT},
    {"out-folder\\none", OUT, OUT},
    {"out-none", OUT, 0},
    {"out-none-below", 0, 0},
    {"beside", OUT, 0},
    {"registry", OUT, 0},
    {"climb", OUT, 0},
    {"climb\\inner", OUT, OUT},
    {"climb-none", OUT, 0},
    {"climb-prefix", OUT, 0},
    {"climb-prefix\\system.reg", OUT, OUT},
    {"climb-prefix\\drive_c\\file", 0, 0},
    {"chain", OUT, 0},
    {"chain\\inner", OUT, OUT},
    {"chain-none", OUT, 0},
    {"loop", LOOP, 0},
    {"loop\\none", 0, 0},
    {"magic", LOOP, 0},
    {"magic\\passwd", LOOP, LOOP},
    {"magic-none", LOOP, 0},
    {"folder\\out", OUT, 0},
    {"folder\\up\\out\\folder\\inner", OUT, OUT},
    {"o\xef\x80\xaaut", OUT, 0},
    {"o\xef\x80\xaaut\\inner", OUT, OUT},
    {"O\xef\x80\xaaUT\\none", OUT, OUT},
    {"o\xef\x81\x9cin\\inner", 0, 0},
    {"o\xef\x81\x9cin\\out\\folder\\inner", OUT, OUT},
    {"folder\\up\\no\xef\x80\xaane", 0, 0},
};

static NTSTATUS holds(HANDLE folder, const char *name, BOOL follow, BOOL *unsure)
{
    WCHAR *text = wide(name);
    UNICODE_STRING string = {(USHORT)(wide_length(text) * sizeof(WCHAR)), 0, text};
    OBJECT_ATTRIBUTES attributes;
    NTSTATUS status;

    set_attributes(&attributes, folder, &string, OBJ_CASE_INSENSITIVE);
    status = drive_holds(&attributes, follow, unsure);
    free(text);
    return status;
}

static void test_names(void)
{
    HANDLE folder = (HANDLE)(INT64)(lx_openat(LX_AT_FDCWD, below(prefix, "drive_c"),
                                              LX_O_PATH | LX_O_DIRECTORY | LX_O_CLOEXEC) +
                                    0x1000);
    char whole[200];

    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
    {
        const char *name = names[i].name;
        BOOL unsure;
        NTSTATUS quick;

        snprintf(whole, sizeof(whole), "\\??\\C:\\%s", name);
        check_status(name, "followed", holds(NULL, whole, TRUE, NULL), names[i].follow);
        check_status(name, "not followed", holds(NULL, whole, FALSE, NULL), names[i].stay);
        quick = holds(NULL, whole, TRUE, &unsure);
        check_status(name, "quick", unsure ? holds(NULL, whole, TRUE, NULL) : quick, names[i].follow);
        if (name[0] && name[0] != '\\')
        {
            check_status(name, "below a handle, followed", holds(folder, name, TRUE, NULL), names[i].follow);
            check_status(name, "below a handle, not followed", holds(folder, name, FALSE, NULL), names[i].stay);
        }
    }
    lx_close((int)(INT64)folder - 0x1000);
}

/* Names of which nothing is looked up, and the answers that do without a second look. */
static void test_other_names(void)
{
    static const char *const free_names[] = {
        "\\??\\pipe\\x", "\\??\\unix\\etc", "\\Device\\Null", "\\??\\C:", "\\??\\", "", "x",
        "\\??\\Q:\\x",   "\\??\\_:\\x"};
    BOOL unsure = TRUE;

    for (unsigned i = 0; i < sizeof(free_names) / sizeof(*free_names); i++)
        check_status(free_names[i], "status", holds(NULL, free_names[i], TRUE, NULL), STATUS_SUCCESS);
    check_status("in capitals", "status", holds(NULL, "\\dosdevices\\C:\\out-file", TRUE, NULL), OUT);
    check_status("drive D:", "status", holds(NULL, "\\??\\D:\\file", TRUE, NULL), STATUS_SUCCESS);
    check_status("a file", "status", holds(NULL, "\\??\\C:\\file", TRUE, &unsure), STATUS_SUCCESS);
    check_number("a file", "unsure", unsure, FALSE);
    check_status("nothing", "status", holds(NULL, "\\??\\C:\\none", TRUE, &unsure), STATUS_SUCCESS);
    check_number("nothing", "unsure", unsure, TRUE);
    check_status("a new name", "status", holds(NULL, "\\??\\C:\\none", FALSE, &unsure), STATUS_SUCCESS);
    check_number("a new name", "unsure", unsure, FALSE);
    check_status("outward", "status", holds(NULL, "\\??\\C:\\out-file", TRUE, &unsure), OUT);
    check_status("a handle of no file", "status", holds((HANDLE)(INT64)(900 + 0x1000), "x", TRUE, NULL),
                 STATUS_SUCCESS);
    check_status("a Win32 name", "status", drive_holds_dos(L"C:\\out-folder\\x", FALSE), OUT);
    check_status("a Win32 name that is none", "status", drive_holds_dos(L"", FALSE), STATUS_OBJECT_PATH_NOT_FOUND);
}

/* A chain of as many links as Linux follows and more, all of which lead to nothing in the end. */
static void test_long_chain(void)
{
    char name[16], text[16];

    for (int i = 0; i < 60; i++)
    {
        snprintf(name, sizeof(name), "l%d", i);
        snprintf(text, sizeof(text), "l%d", i + 1);
        make_link(text, name);
    }
    check_status("30 links", "status", drive_holds_path(below(prefix, "drive_c/l30"), TRUE), STATUS_SUCCESS);
    check_status("60 links", "status", drive_holds_path(below(prefix, "drive_c/l0"), TRUE), LOOP);
    check_status("60 links", "not followed", drive_holds_path(below(prefix, "drive_c/l0"), FALSE), STATUS_SUCCESS);
}

/* The longest texts of links, and paths that are too long. */
static void test_long(void)
{
    char *text = calloc(2 * LINUX_PATH_MAX, 1);

    while (strlen(text) < LINUX_PATH_MAX - 4)
        strcat(text, "../");
    strcat(text, "xy");
    make_link(text, "long");
    text[0] = '/';
    make_link(text, "long-absolute");
    check_status("a long link", "status", drive_holds_path(below(prefix, "drive_c/long"), TRUE), STATUS_NAME_TOO_LONG);
    check_status("a long absolute link", "status", drive_holds_path(below(prefix, "drive_c/long-absolute"), TRUE),
                 STATUS_NAME_TOO_LONG);
    memset(text, 'x', LINUX_PATH_MAX);
    check_status("a long path", "status", drive_holds_path(text, TRUE), STATUS_OBJECT_NAME_INVALID);
    text[LINUX_PATH_MAX - 1] = 0;
    check_status("the longest path", "status", drive_holds_path(text, TRUE), STATUS_SUCCESS);
    check_status("no path", "status", drive_holds_path("", TRUE), STATUS_SUCCESS);
    check_status("the root", "status", drive_holds_path("/", TRUE), OUT);
    free(text);
}

/* A handle's descriptor stays in this process: Wine copies it so that programs would get it. */
static void test_fd_of(void)
{
    int folder = lx_openat(LX_AT_FDCWD, prefix, LX_O_PATH | LX_O_DIRECTORY);
    int fd = path_fd_of((HANDLE)(INT64)(folder + 0x1000));

    check_number("a handle's descriptor", "is another", fd >= 0 && fd != folder, TRUE);
    check_number("a handle's descriptor", "F_GETFD", (int)lx3(LX_NR_fcntl, fd, 1, 0), LX_FD_CLOEXEC);
    check_number("no handle", "descriptor", path_fd_of((HANDLE)(INT64)(900 + 0x1000)), -LX_EBADF);
    lx_close(fd);
    lx_close(folder);
}

int main(int argc, char **argv)
{
    char *path = malloc(LINUX_PATH_MAX);

    must(argc == 2 && realpath(argv[1], root) != NULL, "the folder to work in");
    make_prefix(below(root, "prefix"));
    make_folder(below(root, "outside"));
    make_folder(below(root, "outside/folder"));
    make_folder(below(root, "other"));
    make_folder(below(prefix, "drive_c/folder"));
    make_folder(below(prefix, "drive_c-too"));
    must(!symlink("../../other", below(prefix, "dosdevices/d:")), "link d:");
    make_file(below(root, "outside/file"));
    make_file(below(root, "outside/folder/inner"));
    make_file(below(root, "other/file"));
    make_file(below(prefix, "drive_c/file"));
    make_file(below(prefix, "drive_c/folder/inner"));
    make_file(below(prefix, "drive_c-too/file"));
    make_file(below(prefix, "system.reg"));
    make_links();
    check_number("drive C:", "length", drive_path(path, LINUX_PATH_MAX), (long long)strlen(below(prefix, "drive_c")));
    check_text("drive C:", "path", path, below(prefix, "drive_c"));
    check_number("no drive", "opened", drive_open('q') < 0, TRUE);
    test_names();
    test_other_names();
    test_long_chain();
    test_long();
    free(path);
    test_fd_of();
    check_number("the end", "blocks of memory left", heap_left(), 0);
    return checks_end();
}
