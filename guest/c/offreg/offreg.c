/*
 * offreg.dll: registry files of images, without the registry. hcsshim makes the empty ones of a base layer that has
 * none (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.3/internal/wclayer/converttobaselayer.go), and that is
 * what is here: a hive is made, which is empty, saved and closed.
 *
 * The format is that of https://github.com/msuhanov/regf.
 */
#include <windows.h>

#include <sddl.h>
#include <string.h>

#define BLOCK 4096u /* the file's header, and its only bin */
#define CELLS 32u   /* where the bin's cells begin, within the bin */
#define KEY_SIZE 80u
#define NONE 0xffffffffu

/* A hive that is open: there is nothing in it. */
struct hive
{
    ULONG mark;
};

#define MARK 0x6576696fu

/* On x64 the caller clears the stack, so one function serves whatever the arguments are. */
DWORD WINAPI offreg_not_implemented(void)
{
    return ERROR_CALL_NOT_IMPLEMENTED;
}

static BOOL is_hive(const struct hive *hive)
{
    return hive && hive->mark == MARK;
}

DWORD WINAPI ORCreateHive(struct hive **result)
{
    struct hive *hive;

    if (!result)
        return ERROR_INVALID_PARAMETER;
    if (!(hive = HeapAlloc(GetProcessHeap(), 0, sizeof(*hive))))
        return ERROR_NOT_ENOUGH_MEMORY;
    hive->mark = MARK;
    *result = hive;
    return ERROR_SUCCESS;
}

DWORD WINAPI ORCloseHive(struct hive *hive)
{
    if (!is_hive(hive))
        return ERROR_INVALID_HANDLE;
    hive->mark = 0;
    HeapFree(GetProcessHeap(), 0, hive);
    return ERROR_SUCCESS;
}

static void put16(BYTE *at, USHORT value)
{
    memcpy(at, &value, sizeof(value));
}

static void put32(BYTE *at, ULONG value)
{
    memcpy(at, &value, sizeof(value));
}

/* A cell of so many bytes with its length: negative, as it is in use. */
static BYTE *cell(BYTE *bin, ULONG *at, ULONG size, ULONG *offset)
{
    ULONG length = (size + 4 + 7) & ~7u;
    BYTE *data = bin + *at + 4;

    *offset = *at;
    put32(bin + *at, (ULONG) - (LONG)length);
    *at += length;
    return data;
}

/* The header: two numbers that are the same say that the file is whole. */
static void write_header(BYTE *file, const FILETIME *now, ULONG root)
{
    ULONG sum = 0, word;

    memcpy(file, "regf", 4);
    put32(file + 4, 1);
    put32(file + 8, 1);
    memcpy(file + 12, now, sizeof(*now));
    put32(file + 20, 1); /* version 1.5 */
    put32(file + 24, 5);
    put32(file + 32, 1); /* as it is in memory */
    put32(file + 36, root);
    put32(file + 40, BLOCK);
    put32(file + 44, 1);
    for (ULONG at = 0; at < 508; at += sizeof(word))
    {
        memcpy(&word, file + at, sizeof(word));
        sum ^= word;
    }
    put32(file + 508, sum == NONE ? NONE - 1 : sum ? sum : 1);
}

static void write_key(BYTE *key, const FILETIME *now, ULONG security)
{
    memcpy(key, "nk", 2);
    put16(key + 2, 0x2c); /* the root, which cannot be deleted; the name is of bytes */
    memcpy(key + 4, now, sizeof(*now));
    put32(key + 16, NONE); /* the parent */
    put32(key + 28, NONE); /* subkeys, and those that are not saved */
    put32(key + 32, NONE);
    put32(key + 40, NONE); /* values */
    put32(key + 44, security);
    put32(key + 48, NONE); /* the class */
    put16(key + 72, 4);
    memcpy(key + 76, "ROOT", 4);
}

/* Whoever may change the machine may change the key. */
static BYTE *root_security(ULONG *size)
{
    PSECURITY_DESCRIPTOR security = NULL;

    if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(L"O:BAG:SYD:(A;CI;KA;;;BA)(A;CI;KA;;;SY)",
                                                              SDDL_REVISION_1, &security, size))
        return NULL;
    return security;
}

/* An empty hive as a file has it, in two blocks. */
static DWORD write_hive(BYTE *file)
{
    BYTE *bin = file + BLOCK, *data, *security;
    ULONG at = CELLS, root, at_security, size;
    FILETIME now;

    if (!(security = root_security(&size)))
        return GetLastError();
    GetSystemTimeAsFileTime(&now);
    memcpy(bin, "hbin", 4);
    put32(bin + 8, BLOCK);
    memcpy(bin + 20, &now, sizeof(now));

    data = cell(bin, &at, KEY_SIZE, &root);
    write_key(data, &now, at);
    data = cell(bin, &at, 20 + size, &at_security);
    memcpy(data, "sk", 2);
    put32(data + 4, at_security); /* a ring of one */
    put32(data + 8, at_security);
    put32(data + 12, 1);
    put32(data + 16, size);
    memcpy(data + 20, security, size);
    put32(bin + at, BLOCK - at); /* what is left is free */
    LocalFree(security);

    write_header(file, &now, root);
    return ERROR_SUCCESS;
}

/* Offline registries are of Windows 7 or later, as those that it writes. A file that is there stays. */
DWORD WINAPI ORSaveHive(struct hive *hive, const WCHAR *path, DWORD major, DWORD minor)
{
    BYTE file[2 * BLOCK] = {0};
    DWORD error, written = 0;
    HANDLE to;

    if (!is_hive(hive))
        return ERROR_INVALID_HANDLE;
    if (!path || major < 5 || (major == 5 && minor < 1))
        return ERROR_INVALID_PARAMETER;
    if ((error = write_hive(file)))
        return error;
    to = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
    if (to == INVALID_HANDLE_VALUE)
        return GetLastError() == ERROR_FILE_EXISTS ? ERROR_ALREADY_EXISTS : GetLastError();
    if (!WriteFile(to, file, sizeof(file), &written, NULL) || written != sizeof(file))
        error = GetLastError() ? GetLastError() : ERROR_WRITE_FAULT;
    CloseHandle(to);
    if (error)
        DeleteFileW(path);
    return error;
}
