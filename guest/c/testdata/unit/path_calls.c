/*
 * The calls of ntdll.dll that hooks/path.c makes. Three are Wine's own: a name becomes a Linux path, a path a name, a
 * handle a descriptor. A handle is a descriptor plus 0x1000.
 */
#include "path_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert.h"
#include "path.h"

char prefix[ROOM];

char *below(const char *folder, const char *name)
{
    static char path[4][ROOM];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(path[turn], ROOM, "%s/%s", folder, name);
    return path[turn];
}

void must(BOOL done, const char *what)
{
    if (!done)
    {
        perror(what);
        exit(2);
    }
}

void make_folder(const char *path)
{
    must(!mkdir(path, 0755), path);
}

void make_prefix(const char *path)
{
    strcpy(prefix, path);
    make_folder(prefix);
    make_folder(below(prefix, "dosdevices"));
    make_folder(below(prefix, "drive_c"));
    must(!symlink("../drive_c", below(prefix, "dosdevices/c:")), "link c:");
    must(path_start(), "path_start");
}

static NTSTATUS nt_to_unix(const OBJECT_ATTRIBUTES *attributes, char *path, ULONG *size, UINT disposition)
{
    static char whole[ROOM], name[ROOM];
    const UNICODE_STRING *from = attributes->ObjectName;
    int at = attributes->RootDirectory ? (int)(UINT_PTR)attributes->RootDirectory - 0x1000 : AT_FDCWD;
    struct stat st;
    ULONG length;
    char *end;

    (void)disposition;
    utf8_from(name, ROOM - 1, &length, from->Buffer, from->Length / sizeof(WCHAR));
    name[length] = 0;
    for (char *p = name; *p; p++)
        *p = *p == '\\' ? '/' : *p;
    if (!attributes->RootDirectory && !strncasecmp(name, "/dosdevices/", 12))
        memmove(name + 4, name + 12, strlen(name + 12) + 1);
    if (!attributes->RootDirectory && length > 6)
        name[4] |= 0x20; /* the drive is c: on disk */
    snprintf(whole, ROOM, "%s/%s",
             attributes->RootDirectory ? "."
             : *prefix                 ? below(prefix, "dosdevices")
                                       : "",
             name + (attributes->RootDirectory ? 0 : 4));
    if (strlen(whole) >= *size)
        return STATUS_BUFFER_TOO_SMALL;
    strcpy(path, whole);
    while ((end = strrchr(path, '/'))[1] == 0)
        *end = 0;
    if (attributes->RootDirectory && fstatat(at, ".", &st, AT_SYMLINK_NOFOLLOW))
        return STATUS_SUCCESS; /* whether the handle is a folder does not matter */
    if (!fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW))
        return STATUS_SUCCESS;
    *end = 0;
    length = (ULONG)fstatat(at, path, &st, 0);
    *end = '/';
    return length ? STATUS_OBJECT_PATH_NOT_FOUND : STATUS_NO_SUCH_FILE;
}

static NTSTATUS unix_to_nt(const char *path, WCHAR *name, ULONG *size)
{
    const char *drive = below(prefix, "drive_c");
    SIZE_T length = strlen(drive);
    static char text[ROOM];
    ULONG chars;

    if (!strncmp(path, drive, length))
        snprintf(text, ROOM, "\\??\\C:%s", path + length);
    else
        snprintf(text, ROOM, "\\??\\unix%s", path);
    for (char *p = text; *p; p++)
        *p = *p == '/' ? '\\' : *p;
    if (!utf16_from(name, *size - 1, &chars, text, (ULONG)strlen(text)))
        return STATUS_BUFFER_TOO_SMALL;
    name[chars] = 0;
    return STATUS_SUCCESS;
}

static int handle_to_fd(HANDLE handle, unsigned access, int *fd, unsigned *options)
{
    (void)access;
    (void)options;
    *fd = dup((int)(UINT_PTR)handle - 0x1000);
    return *fd < 0 ? STATUS_INVALID_HANDLE : STATUS_SUCCESS;
}

HMODULE GetModuleHandleW(const WCHAR *name)
{
    (void)name;
    return prefix;
}

void *GetProcAddress(HMODULE module, const char *name)
{
    (void)module;
    if (!strcmp(name, "wine_nt_to_unix_file_name"))
        return nt_to_unix;
    if (!strcmp(name, "wine_unix_to_nt_file_name"))
        return unix_to_nt;
    return strcmp(name, "wine_server_handle_to_fd") ? NULL : handle_to_fd;
}

BOOLEAN RtlDosPathNameToNtPathName_U(const WCHAR *name, UNICODE_STRING *nt, WCHAR **file, void *unused)
{
    SIZE_T length = wide_length(name);

    (void)file;
    (void)unused;
    nt->Length = (USHORT)((length + 4) * sizeof(WCHAR));
    nt->Buffer = HeapAlloc(GetProcessHeap(), 0, nt->Length);
    memcpy(nt->Buffer, L"\\??\\", 4 * sizeof(WCHAR));
    memcpy(nt->Buffer + 4, name, length * sizeof(WCHAR));
    if (!length)
        RtlFreeUnicodeString(nt);
    return length > 0;
}

void RtlFreeUnicodeString(UNICODE_STRING *string)
{
    HeapFree(GetProcessHeap(), 0, string->Buffer);
}

NTSTATUS RtlUnicodeToUTF8N(char *to, ULONG room, ULONG *length, const WCHAR *from, ULONG bytes)
{
    return utf8_from(to, room, length, from, bytes / sizeof(WCHAR)) ? STATUS_SUCCESS : STATUS_BUFFER_TOO_SMALL;
}

NTSTATUS RtlUTF8ToUnicodeN(WCHAR *to, ULONG room, ULONG *bytes, const char *from, ULONG length)
{
    BOOL fits = utf16_from(to, room / sizeof(WCHAR), bytes, from, length);

    *bytes *= sizeof(WCHAR);
    return fits ? STATUS_SUCCESS : STATUS_BUFFER_TOO_SMALL;
}

WCHAR RtlUpcaseUnicodeChar(WCHAR c)
{
    return (c >= 'a' && c <= 'z') || (c >= 0xe0 && c <= 0xfe && c != 0xf7) ? (WCHAR)(c - 32) : c;
}

WCHAR RtlDowncaseUnicodeChar(WCHAR c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ? (WCHAR)(c + 32) : c;
}
