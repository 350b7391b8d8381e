/*
 * Data disks of a host, \\.\PHYSICALDRIVEn: a disk's number and its name for SCSI; names of files on their volumes;
 * volumes as devices, \\?\Volume{GUID} without a backslash at the end, which have a length.
 *
 * The host's agent has a file volumes/physicaldriveN, which the host cannot change, and to which
 * dosdevices/physicaldriveN leads; it has the number and the name, "1 3000000000000000"; and volumes/GUID.path, with
 * the access path of the volume that is mounted at volumes/GUID. So Wine opens \\.\PHYSICALDRIVEn as that file. The
 * bytes of the disk are nobody's to read. Codes and structures: winioctl.h, and
 * https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_storage_query_property.
 */
#include "disk.h"

#include <string.h>

#include "hooks.h"
#include "path.h"
#include "heap.h"

#define CODE_GET_LENGTH 0x7405cu /* IOCTL_DISK_GET_LENGTH_INFO */
#define CODE_GET_DEVICE_NUMBER 0x2d1080u
#define CODE_QUERY_PROPERTY 0x2d1400u
#define PROPERTY_ID 2     /* StorageDeviceIdProperty */
#define STANDARD_QUERY 0  /* PropertyStandardQuery */
#define CODE_SET_BINARY 1 /* StorageIdCodeSetBinary */
#define TYPE_FCPH_NAME 3  /* StorageIdTypeFCPHName: NAA */
#define ID_SIZE 8
#define GUID_LENGTH 36

struct device_number
{
    ULONG type, number, partition;
};

struct id_descriptor
{
    ULONG version, size, count;
    ULONG code_set, type;
    USHORT id_size, next;
    ULONG association;
    BYTE id[ID_SIZE];
};

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads number and name of the disk that a handle is of; FALSE: it is of none. */
static BOOL read_disk(HANDLE handle, ULONG *number, BYTE *id)
{
    static const char file[] = "/volumes/physicaldrive";
    char *path = heap_alloc(LINUX_PATH_MAX), text[64] = {0}, *end = text;
    int fd = path_fd_of(handle);
    BOOL found = FALSE;

    if (path && fd >= 0 && lx_fd_path(fd, path, LINUX_PATH_MAX) > 0 && (found = strstr(path, file) != NULL))
        found = lx_pread(fd, text, sizeof(text) - 1, 0) > 0;
    if (fd >= 0)
        lx_close(fd);
    heap_free(path);
    if (!found)
        return FALSE;
    for (*number = 0; *end >= '0' && *end <= '9'; end++)
        *number = *number * 10 + (ULONG)(*end - '0');
    if (*end++ != ' ')
        return FALSE;
    for (unsigned i = 0; i < ID_SIZE; i++)
    {
        int high = digit(end[2 * i]), low = high < 0 ? -1 : digit(end[2 * i + 1]);

        if (low < 0)
            return FALSE;
        id[i] = (BYTE)(high << 4 | low);
    }
    return TRUE;
}

static NTSTATUS query_id(const ULONG *query, ULONG in_size, void *out, ULONG out_size, const BYTE *id, ULONG_PTR *used)
{
    struct id_descriptor answer = {FIELD_OFFSET(struct id_descriptor, code_set),
                                   sizeof(answer),
                                   1,
                                   CODE_SET_BINARY,
                                   TYPE_FCPH_NAME,
                                   ID_SIZE,
                                   0,
                                   0,
                                   {0}};

    if (in_size < 2 * sizeof(ULONG))
        return STATUS_INVALID_PARAMETER;
    if (query[0] != PROPERTY_ID || query[1] != STANDARD_QUERY)
        return STATUS_NOT_SUPPORTED;
    memcpy(answer.id, id, ID_SIZE);
    *used = out_size < sizeof(answer) ? out_size : sizeof(answer);
    memcpy(out, &answer, *used); /* a caller with less room reads the size first */
    return STATUS_SUCCESS;
}

/* The folder that a volume is, opened, or a negative error: the handle is of something else. */
static int volume_of(HANDLE handle)
{
    static const char volumes[] = "/volumes/";
    char *path = heap_alloc(LINUX_PATH_MAX), *guid = NULL;
    int fd = path_fd_of(handle);

    if (path && fd >= 0 && lx_fd_path(fd, path, LINUX_PATH_MAX) > 0 && (guid = strstr(path, volumes)))
        guid += sizeof(volumes) - 1;
    if (fd >= 0 && (!guid || strlen(guid) != GUID_LENGTH))
    {
        lx_close(fd);
        fd = -LX_EBADF;
    }
    heap_free(path);
    return fd;
}

/* The length of a volume, which is as large as its file system. */
static BOOL query_length(HANDLE handle, void *out, ULONG out_size, ULONG_PTR *used, NTSTATUS *status)
{
    struct lx_statfs st = {0};
    int fd = volume_of(handle);
    INT64 length;

    if (fd < 0)
        return FALSE;
    *status = lx_fstatfs(fd, &st) ? STATUS_INVALID_DEVICE_REQUEST : STATUS_SUCCESS;
    lx_close(fd);
    length = (INT64)st.blocks * st.bsize;
    if (!*status && out_size < sizeof(length))
        *status = STATUS_BUFFER_TOO_SMALL;
    if (!*status)
        memcpy(out, &length, *used = sizeof(length));
    return TRUE;
}

BOOL disk_names_volume(const OBJECT_ATTRIBUTES *attributes)
{
    static const WCHAR head[] = L"\\??\\Volume{";
    const ULONG chars = sizeof(head) / sizeof(WCHAR) - 1;
    const UNICODE_STRING *name = attributes->ObjectName;

    return name && !attributes->RootDirectory && name->Length == (chars + GUID_LENGTH + 1) * sizeof(WCHAR) &&
           path_same_name(name->Buffer, head, chars) && name->Buffer[chars + GUID_LENGTH] == '}';
}

BOOL disk_control(HANDLE handle, HANDLE event, IO_STATUS_BLOCK *io, ULONG code, const void *in, ULONG in_size,
                  void *out, ULONG out_size, NTSTATUS *status)
{
    ULONG_PTR used = 0;
    BYTE id[ID_SIZE];
    ULONG number;

    if (code == CODE_GET_LENGTH)
    {
        if (!query_length(handle, out, out_size, &used, status))
            return FALSE;
    }
    /* Wine says of every file that it is on disk 1 */
    else if ((code != CODE_GET_DEVICE_NUMBER && code != CODE_QUERY_PROPERTY) || !read_disk(handle, &number, id))
        return FALSE;
    else if (code == CODE_GET_DEVICE_NUMBER)
    {
        struct device_number answer = {DEVICE_DISK, number, 0};

        *status = out_size < sizeof(answer) ? STATUS_BUFFER_TOO_SMALL : STATUS_SUCCESS;
        if (!*status)
            memcpy(out, &answer, used = sizeof(answer));
    }
    else
        *status = query_id(in, in_size, out, out_size, id, &used);
    io->Status = *status;
    io->Information = used;
    if (event)
        SetEvent(event);
    return TRUE;
}

/*
 * Reads the access path of the volume that a Linux path leads to, in UTF-16; rest is what follows the volume in the
 * path. Returns its length, or 0.
 */
static ULONG access_path(char *path, WCHAR *name, ULONG room, const char **rest)
{
    static const char volumes[] = "/volumes/", end[] = ".path";
    char *guid = strstr(path, volumes), *text = NULL, file[LINUX_PATH_MAX];
    SIZE_T length;
    INT64 got = 0;
    int fd;

    if (!guid)
        return 0;
    guid += sizeof(volumes) - 1;
    length = (SIZE_T)(guid - path) + GUID_LENGTH;
    if (strlen(guid) < GUID_LENGTH || (path[length] && path[length] != '/') || length + sizeof(end) > sizeof(file))
        return 0;
    memcpy(file, path, length);
    memcpy(file + length, end, sizeof(end));
    *rest = path + length;
    if ((fd = lx_openat(LX_AT_FDCWD, file, LX_O_RDONLY | LX_O_NOFOLLOW | LX_O_CLOEXEC)) < 0)
        return 0;
    if ((text = heap_alloc(LINUX_PATH_MAX)))
        got = lx_pread(fd, text, LINUX_PATH_MAX - 1, 0);
    lx_close(fd);
    got = got > 0 ? path_utf16_of(text, (ULONG)got, name, room) : 0;
    heap_free(text);
    return (ULONG)got;
}

NTSTATUS disk_name(NTSTATUS status, void *buffer, ULONG length, ULONG *needed)
{
    static const WCHAR head[] = L"\\??\\unix\\";
    const ULONG unix_name = sizeof(head) / sizeof(WCHAR) - 2, nt_head = 4; /* \??\unix and \??\ */
    UNICODE_STRING *name = buffer;
    WCHAR *made = NULL;
    const char *rest;
    char *path;
    ULONG chars;

    if (status || name->Length < sizeof(head) || wcsncmp(name->Buffer, head, unix_name + 1) ||
        !(path = heap_alloc(LINUX_PATH_MAX)))
        return status;
    path_utf8_of(name->Buffer + unix_name, name->Length - unix_name * sizeof(WCHAR), path, LINUX_PATH_MAX);
    for (char *p = path; *p; p++)
        if (*p == '\\')
            *p = '/';
    if ((made = heap_alloc(2 * LINUX_PATH_MAX * sizeof(WCHAR))) &&
        (chars = access_path(path, made + nt_head, LINUX_PATH_MAX, &rest)))
    {
        memcpy(made, head, nt_head * sizeof(WCHAR));
        chars += nt_head;
        chars += path_utf16_of(rest, (ULONG)strlen(rest), made + chars, LINUX_PATH_MAX);
        for (ULONG i = 0; i < chars; i++)
            if (made[i] == '/')
                made[i] = '\\';
        if (needed)
            *needed = sizeof(*name) + (chars + 1) * sizeof(WCHAR);
        if (sizeof(*name) + (chars + 1) * sizeof(WCHAR) > length)
            status = STATUS_BUFFER_OVERFLOW;
        else
        {
            made[chars] = 0;
            memcpy(name->Buffer, made, (chars + 1) * sizeof(WCHAR));
            name->Length = (USHORT)(chars * sizeof(WCHAR));
            name->MaximumLength = (USHORT)(name->Length + sizeof(WCHAR));
        }
    }
    heap_free(made);
    heap_free(path);
    return status;
}
