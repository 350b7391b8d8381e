/*
 * Renames of folders (hooks/move.c): of an overlay's lower folders, and between two volumes of one file system, where
 * there is none. The program is given an empty folder, in which it mounts both, in a mount namespace of its own.
 */
#define _GNU_SOURCE
#include "move.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static void expect(const char *what, BOOL holds)
{
    check_number("move", what, holds, TRUE);
}

static void make(const char *name)
{
    expect(name, !mkdir(name, 0755));
}

static void make_file(const char *name)
{
    FILE *file = fopen(name, "w");

    expect(name, file && !fclose(file));
}

static BOOL is_there(const char *name)
{
    return !access(name, F_OK);
}

static ino_t number_of(const char *name)
{
    struct stat st = {0};

    expect(name, !stat(name, &st));
    return st.st_ino;
}

static int move(const char *from_dir, const char *from, const char *to_dir, const char *to)
{
    struct place a = {lx_openat(LX_AT_FDCWD, from_dir, LX_O_RDONLY | LX_O_DIRECTORY), {0}};
    struct place b = {lx_openat(LX_AT_FDCWD, to_dir, LX_O_RDONLY | LX_O_DIRECTORY), {0}};
    int result;

    snprintf(a.name, sizeof(a.name), "%s", from);
    snprintf(b.name, sizeof(b.name), "%s", to);
    result = move_entry(&a, &b, LX_RENAME_NOREPLACE);
    lx_close(a.dir);
    lx_close(b.dir);
    return result;
}

static void test_layers(void)
{
    make("lower");
    make("lower/app");
    make("lower/app/sub");
    make_file("lower/app/sub/file");
    make("upper");
    make("work");
    make("layered");
    expect("overlay",
           !mount("overlay", "layered", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work,redirect_dir=off"));
    expect("a folder of a layer moves", !move("layered", "app", "layered", "moved"));
    expect("its file is at its new name", is_there("layered/moved/sub/file"));
    expect("nothing is at the old one", !is_there("layered/app"));
}

static void test_volumes(void)
{
    ino_t before;

    make("first");
    make("second");
    make("one");
    make("two");
    make("first/full");
    make_file("first/full/file");
    make("first/full/empty"); /* tmpfs lists what is newer first */
    make("first/empty");
    before = number_of("first/full/empty");
    expect("one volume", !mount("first", "one", NULL, MS_BIND, NULL));
    expect("another volume", !mount("second", "two", NULL, MS_BIND, NULL));
    expect("a folder does not move to another volume", move("one", "full", "two", "full") == -LX_EXDEV);
    expect("an empty one does not", move("one", "empty", "two", "empty") == -LX_EXDEV);
    expect("nothing is there", !is_there("two/full") && !is_there("two/empty"));
    expect("the folders are the same as before", number_of("one/full/empty") == before);
}

int main(int argc, char **argv)
{
    if (argc != 2 || geteuid() || unshare(CLONE_NEWNS))
        return 0; /* others than root mount nothing */
    expect("own mounts", !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
    expect("a file system", !mount("tmpfs", argv[1], "tmpfs", 0, NULL) && !chdir(argv[1]));
    test_layers();
    test_volumes();
    return checks_end();
}
