/*
 * BackupWrite, which makes a file of its streams: data and reparse point; BackupRead, which makes the stream of its
 * data.
 *
 * Facts: Wine's answer ERROR_NOT_SUPPORTED. hcsshim writes the files of a base layer by it
 * (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.3/internal/wclayer/baselayerwriter.go). A stream is a
 * WIN32_STREAM_ID, its name and its bytes, and may come in any number of calls; the last call says abort and has no
 * bytes (https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-backupwrite). Extended attributes, alternate
 * streams and object ids have no place here and are dropped, and so are security descriptors, as where Mullion unpacks
 * an image itself.
 */
#include "hooks.h"
#include "heap.h"

#include <string.h>

#define HEADER_SIZE 20u /* WIN32_STREAM_ID without its name */
#define MAX_KEPT (64u << 10)

/* What is known of a file between two calls. */
struct backup
{
    BYTE header[HEADER_SIZE];
    DWORD have, stream, name; /* name: bytes of the name that are still to come */
    ULONG64 left;             /* bytes of the stream that are still to come */
    BYTE *kept;               /* of a stream that is taken whole */
    DWORD kept_size;
};

static DWORD less(DWORD a, ULONG64 b)
{
    return a < b ? a : (DWORD)b;
}

static BOOL is_kept(const struct backup *b)
{
    return b->stream == BACKUP_REPARSE_DATA;
}

/* Reads a whole header. */
static BOOL begin_stream(struct backup *b)
{
    memcpy(&b->stream, b->header, 4);
    memcpy(&b->left, b->header + 8, 8);
    memcpy(&b->name, b->header + 16, 4);
    b->kept_size = 0;
    heap_free(b->kept);
    b->kept = NULL;
    if (b->stream == BACKUP_SPARSE_BLOCK || b->name > MAX_KEPT || (is_kept(b) && b->left > MAX_KEPT))
    {
        SetLastError(b->stream == BACKUP_SPARSE_BLOCK ? ERROR_NOT_SUPPORTED : ERROR_INVALID_DATA);
        return FALSE;
    }
    if (is_kept(b) && !(b->kept = heap_alloc((SIZE_T)b->left + 1)))
    {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return FALSE;
    }
    return TRUE;
}

/* Carries out a stream that was kept and is whole. */
static BOOL end_stream(struct backup *b, HANDLE file)
{
    DWORD used = 0;

    b->have = 0;
    if (b->stream == BACKUP_REPARSE_DATA)
        return DeviceIoControl(file, CODE_SET_REPARSE_POINT, b->kept, b->kept_size, NULL, 0, &used, NULL);
    return TRUE;
}

/* Takes the next bytes, and returns how many; 0: an error. */
static DWORD take(struct backup *b, HANDLE file, const BYTE *data, DWORD size)
{
    DWORD used = 0;

    if (b->have < HEADER_SIZE)
    {
        used = less(size, HEADER_SIZE - b->have);
        memcpy(b->header + b->have, data, used);
        b->have += used;
        return b->have < HEADER_SIZE || begin_stream(b) ? used : 0;
    }
    if (b->name)
    {
        used = less(size, b->name);
        b->name -= used;
        return used;
    }
    used = less(size, b->left);
    if (b->stream == BACKUP_DATA && !WriteFile(file, data, used, &used, NULL))
        return 0;
    if (is_kept(b))
        memcpy(b->kept + b->kept_size, data, used);
    b->kept_size += used;
    b->left -= used;
    return used;
}

static BOOL WINAPI hook_BackupWrite(HANDLE file, const BYTE *data, DWORD size, DWORD *written, BOOL abort,
                                    BOOL security, void **context)
{
    struct backup *b = context ? *context : NULL;
    DWORD done = 0, used;

    (void)security;
    if (written)
        *written = 0;
    if (!context)
    {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    if (abort)
    {
        if (b)
            heap_free(b->kept);
        heap_free(b);
        *context = NULL;
        return TRUE;
    }
    if (!b && !(*context = b = heap_alloc(sizeof(*b))))
    {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return FALSE;
    }
    while (done < size)
    {
        if (!(used = take(b, file, data + done, size - done)))
            return FALSE;
        done += used;
        if (b->have == HEADER_SIZE && !b->name && !b->left && !end_stream(b, file))
            return FALSE;
    }
    if (written)
        *written = done;
    return TRUE;
}

/* What is left of a file to be read. */
struct reading
{
    BYTE header[HEADER_SIZE];
    DWORD told; /* bytes of the header that were given */
    ULONG64 left;
};

/* A folder has no streams. */
static BOOL begin_reading(struct reading *r, HANDLE file)
{
    BY_HANDLE_FILE_INFORMATION info;
    DWORD id = BACKUP_DATA;

    if (!GetFileInformationByHandle(file, &info))
        return FALSE;
    r->told = HEADER_SIZE;
    if (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
        return TRUE;
    r->told = 0;
    r->left = (ULONG64)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    memcpy(r->header, &id, 4);
    memcpy(r->header + 8, &r->left, 8);
    return TRUE;
}

static BOOL WINAPI hook_BackupRead(HANDLE file, BYTE *data, DWORD size, DWORD *read, BOOL abort, BOOL security,
                                   void **context)
{
    struct reading *r = context ? *context : NULL;
    DWORD used, got = 0;

    (void)security;
    if (read)
        *read = 0;
    if (!context || (!abort && !read))
    {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    if (abort)
    {
        heap_free(r);
        *context = NULL;
        return TRUE;
    }
    if (!r)
    {
        if (!(r = heap_alloc(sizeof(*r))))
        {
            SetLastError(ERROR_NOT_ENOUGH_MEMORY);
            return FALSE;
        }
        memset(r, 0, sizeof(*r));
        if (!begin_reading(r, file))
        {
            heap_free(r);
            return FALSE;
        }
        *context = r;
    }
    used = less(size, HEADER_SIZE - r->told);
    memcpy(data, r->header + r->told, used);
    r->told += used;
    if (r->told == HEADER_SIZE && r->left && size > used)
    {
        if (!ReadFile(file, data + used, less(size - used, r->left), &got, NULL))
            return FALSE;
        if (!got) /* it has become shorter than its header says */
        {
            SetLastError(ERROR_HANDLE_EOF);
            return FALSE;
        }
        r->left -= got;
    }
    *read = used + got;
    return TRUE;
}

void backup_start(void)
{
    HMODULE kernel32 = GetModuleHandleW(L"kernel32.dll");

    if (GetFileAttributesW(L"C:\\ProgramData\\Mullion\\hns.token") == INVALID_FILE_ATTRIBUTES)
        return; /* no host */
    patch_replace(kernel32, "BackupRead", hook_BackupRead);
    patch_replace(kernel32, "BackupWrite", hook_BackupWrite);
}
