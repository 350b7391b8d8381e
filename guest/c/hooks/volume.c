/*
 * Volumes without Wine's mount manager (MountMgr, one of the services that do not run in a new container): its most
 * common queries are answered here.
 *
 * Beside that a disk that has bytes, but hardly any files left, is shown as what it is, nearly full: a Linux file
 * system can have a fixed number of inodes. Otherwise kubelet.exe, which knows only bytes on Windows, would see a pod
 * take the last of them for the whole machine, and do nothing.
 *
 * Facts (Wine 8.0, measured without services): NtQueryVolumeInformationFile answers FileFsVolumeInformation with
 * STATUS_NOT_IMPLEMENTED, so that `dir` and `vol` end with "Invalid function."; GetLogicalDrives answers 0;
 * GetDriveTypeW opens the mount manager and takes a drive for fixed if there is none.
 */
#include <string.h>

#include "hooks.h"
#include "path.h"
#include "heap.h"

#define CLASS_FS_VOLUME 1
#define CLASS_FS_SIZE 3
#define CLASS_FS_FULL_SIZE 7
/*
 * Files that can still be made: with fewer, each stands for the bytes that mke2fs(8) has for one (inode_ratio of
 * mke2fs.conf(5)).
 */
#define FEW_FILES 65536
#define BYTES_FOR_FILE 16384

struct nt_fs_volume_info
{
    LARGE_INTEGER creation;
    ULONG serial, label_length;
    BOOLEAN objects;
    WCHAR label[1];
};

struct nt_fs_size_info
{
    LARGE_INTEGER total, available;
    ULONG sectors, bytes; /* sectors of a unit, bytes of a sector */
};

struct nt_fs_full_size_info
{
    LARGE_INTEGER total, available, free;
    ULONG sectors, bytes;
};

typedef NTSTATUS(WINAPI *query_volume)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
typedef DWORD(WINAPI *get_logical_drives)(void);
typedef UINT(WINAPI *get_drive_type)(const WCHAR *);

static query_volume original_query_volume;
static get_logical_drives original_get_logical_drives;
static get_drive_type original_get_drive_type;

/* A serial number for a Linux file system: the same for all its files, and never 0, which programs take for "none". */
static ULONG serial_of(const struct lx_stat *st)
{
    UINT64 number = (st->dev + 1) * 0x9E3779B97F4A7C15ull; /* 2^64 divided by the golden ratio: spreads small numbers */

    return (ULONG)(number >> 32) | 1;
}

static ULONG serial_of_file(HANDLE handle)
{
    struct lx_stat st = {0};
    int fd = path_fd_of(handle);

    if (fd >= 0)
    {
        lx_fstat(fd, &st);
        lx_close(fd);
    }
    return serial_of(&st);
}

static ULONG serial_of_drive(WCHAR letter)
{
    WCHAR root[] = {letter, ':', '\\', 0};
    char *path = heap_alloc(LINUX_PATH_MAX);
    struct lx_stat st = {0};

    if (path && !path_of_dos(root, path, LINUX_PATH_MAX))
        lx_fstatat(LX_AT_FDCWD, path, &st, 0);
    heap_free(path);
    return serial_of(&st);
}

/* The most bytes that are free for so many files as can still be made, or -1. */
static INT64 room_for_files(HANDLE handle)
{
    struct lx_statfs st = {0};
    int fd = path_fd_of(handle);

    if (fd < 0)
        return -1;
    if (lx_fstatfs(fd, &st))
        st.files = 0;
    lx_close(fd);
    return st.files && st.ffree < FEW_FILES ? (INT64)(st.ffree * BYTES_FOR_FILE) : -1;
}

static void lower(LARGE_INTEGER *units, INT64 room, UINT64 unit)
{
    if (unit && units->QuadPart > (INT64)((UINT64)room / unit))
        units->QuadPart = (INT64)((UINT64)room / unit);
}

/* An answer about the size of a volume, with what is free bounded by room_for_files. */
static void bound_free(HANDLE handle, void *buffer, ULONG class)
{
    struct nt_fs_size_info *size = buffer;
    struct nt_fs_full_size_info *full = buffer;
    INT64 room = room_for_files(handle);

    if (room < 0)
        return;
    if (class == CLASS_FS_SIZE)
    {
        lower(&size->available, room, (UINT64)size->sectors * size->bytes);
        return;
    }
    lower(&full->available, room, (UINT64)full->sectors * full->bytes);
    lower(&full->free, room, (UINT64)full->sectors * full->bytes);
}

/*
 * An empty label, as the volume of a Windows container has. The mount manager, if it runs, makes a serial number from
 * the drive's letter only (0x43000000). It is replaced, so that the number stays the same when the services are
 * started.
 */
static NTSTATUS WINAPI hook_NtQueryVolumeInformationFile(HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length,
                                                         ULONG class)
{
    NTSTATUS status = original_query_volume(handle, io, buffer, length, class);
    struct nt_fs_volume_info *info = buffer;

    if (status >= 0 && (class == CLASS_FS_SIZE || class == CLASS_FS_FULL_SIZE))
        bound_free(handle, buffer, class);
    if (class != CLASS_FS_VOLUME || length < sizeof(*info))
        return status;
    if (status >= 0 && info->serial &&
        !(info->serial & 0xffffff)) /* the handle may be one of the device, which is no file */
        info->serial = serial_of_drive((WCHAR)(info->serial >> 24));
    if (status != STATUS_NOT_IMPLEMENTED)
        return status;
    memset(info, 0, sizeof(*info));
    info->serial = serial_of_file(handle);
    io->Status = STATUS_SUCCESS;
    io->Information = FIELD_OFFSET(struct nt_fs_volume_info, label);
    return STATUS_SUCCESS;
}

/* Whether the mount manager runs; asking does not start it. */
static BOOL has_mount_manager(void)
{
    static WCHAR text[] = L"\\??\\MountPointManager";
    UNICODE_STRING name = {sizeof(text) - sizeof(WCHAR), sizeof(text), text};
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK io;
    HANDLE manager;

    set_attributes(&attributes, NULL, &name, OBJ_CASE_INSENSITIVE);
    if (originals.NtOpenFile(&manager, SYNCHRONIZE, &attributes, &io, FILE_SHARE_READ | FILE_SHARE_WRITE,
                             FILE_SYNCHRONOUS_IO_NONALERT) < 0)
        return FALSE;
    originals.NtClose(manager);
    return TRUE;
}

static BOOL has_drive(WCHAR letter)
{
    WCHAR root[] = {letter, ':', '\\', 0};
    DWORD error = GetLastError();
    BOOL there = GetFileAttributesW(root) != INVALID_FILE_ATTRIBUTES;

    SetLastError(error);
    return there;
}

static DWORD WINAPI hook_GetLogicalDrives(void)
{
    DWORD drives = original_get_logical_drives();

    if (drives || has_mount_manager())
        return drives;
    for (unsigned i = 0; i < 26; i++)
        if (has_drive((WCHAR)('A' + i)))
            drives |= 1u << i;
    return drives;
}

/* X: or X:\ */
static BOOL is_drive(const WCHAR *root)
{
    WCHAR letter = root[0] | 0x20;

    return letter >= 'a' && letter <= 'z' && root[1] == ':' &&
           (!root[2] || ((root[2] == '\\' || root[2] == '/') && !root[3]));
}

static UINT WINAPI hook_GetDriveTypeW(const WCHAR *root)
{
    WCHAR current[MAX_PATH];

    if (!root && GetCurrentDirectoryW(MAX_PATH, current))
    {
        current[3] = 0;
        root = current;
    }
    if (!root || !is_drive(root) || has_mount_manager())
        return original_get_drive_type(root);
    return has_drive(root[0]) ? DRIVE_FIXED : DRIVE_NO_ROOT_DIR;
}

void volume_start(void)
{
    HMODULE kernelbase = GetModuleHandleW(L"kernelbase.dll");

    patch_function(GetModuleHandleW(L"ntdll.dll"), "NtQueryVolumeInformationFile", hook_NtQueryVolumeInformationFile,
                   (void **)&original_query_volume);
    if (!patch_function(kernelbase, "GetLogicalDrives", hook_GetLogicalDrives, (void **)&original_get_logical_drives))
        patch_function(GetModuleHandleW(L"kernel32.dll"), "GetLogicalDrives", hook_GetLogicalDrives,
                       (void **)&original_get_logical_drives);
    patch_function(kernelbase, "GetDriveTypeW", hook_GetDriveTypeW, (void **)&original_get_drive_type);
}
