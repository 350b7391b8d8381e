/*
 * Who may change HKEY_LOCAL_MACHINE in a container: NtOpenKey, NtOpenKeyEx, NtCreateKey.
 *
 * On Windows its keys can be written by administrators and SYSTEM, and be read by Users, of whom ContainerUser is one.
 * Fact (Wine 8.0 to 10.0): all users are among the administrators, and the server of a container runs as the
 * container's user. So this holds against programs that mean well: one that calls Linux itself, or the server, can
 * change the hive, which is its container's alone and goes with it.
 *
 * A handle to be opened is opened for reading first: its name says where it leads, whatever link or root the program
 * has come by. What asks for more is refused there. Wine's own libraries open some keys for everything and read: those
 * are opened for reading. What they and their programs write at run time is left to them.
 */
#include <string.h>

#include "hooks.h"
#include "linux.h"
#include "machinekey.h"
#include "path.h"
#include "program.h"

#define CONTAINER "/run/mullion/job" /* see job.c */
#define MACHINE L"\\Registry\\Machine\\"
#define KEY_NAME 3 /* KeyNameInformation */
#define WRITES \
    (KEY_SET_VALUE | KEY_CREATE_SUB_KEY | KEY_CREATE_LINK | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | \
     GENERIC_ALL | ACCESS_SYSTEM_SECURITY)

enum
{
    UID_ADMINISTRATOR = 0,
    NAME_CHARS = 512,
    MACHINE_CHARS = sizeof(MACHINE) / sizeof(WCHAR) - 1,
    OPENED_EXISTING_KEY = 2 /* REG_OPENED_EXISTING_KEY */
};

typedef NTSTATUS(WINAPI *nt_open_key)(HANDLE *, ACCESS_MASK, const OBJECT_ATTRIBUTES *);
typedef NTSTATUS(WINAPI *nt_open_key_ex)(HANDLE *, ACCESS_MASK, const OBJECT_ATTRIBUTES *, ULONG);
typedef NTSTATUS(WINAPI *nt_create_key)(HANDLE *, ACCESS_MASK, const OBJECT_ATTRIBUTES *, ULONG, const UNICODE_STRING *,
                                        ULONG, ULONG *);

NTSTATUS NTAPI NtQueryKey(HANDLE key, ULONG class, void *information, ULONG size, ULONG *length);

static nt_open_key original_open;
static nt_open_key_ex original_open_ex;
static nt_create_key original_create;
static DWORD filling = TLS_OUT_OF_INDEXES; /* how often this thread opens a store at the moment */

enum verdict
{
    ALLOWED,
    READ_ONLY,
    DENIED
};

static BOOL below(const WCHAR *path, ULONG chars, const WCHAR *key)
{
    ULONG length = (ULONG)lstrlenW(key);

    return chars >= length && path_same_name(path, key, length) && (chars == length || path[length] == '\\');
}

static BOOL is_filling(void)
{
    DWORD error = GetLastError();
    BOOL is = TlsGetValue(filling) != NULL;

    SetLastError(error);
    return is;
}

/* What a user may do with a key by its full name. */
static enum verdict judge(const WCHAR *path, ULONG chars)
{
    /* libraries of Wine's open these for everything and read: crypt32, rsaenh, setupapi, mmdevapi, kernelbase */
    static const WCHAR *const read[] = {
        L"Software\\Microsoft\\SystemCertificates",
        L"Software\\Policies\\Microsoft\\SystemCertificates",
        L"Software\\Microsoft\\Cryptography",
        L"Software\\Microsoft\\Windows\\CurrentVersion\\MMDevices",
        L"Software\\Microsoft\\Windows NT\\CurrentVersion\\Time Zones",
        L"System\\CurrentControlSet\\Control\\TimeZoneInformation",
        L"System\\CurrentControlSet\\Control\\Class",
        L"System\\CurrentControlSet\\Control\\DeviceClasses",
        L"System\\CurrentControlSet\\Control\\Nls",
        L"System\\CurrentControlSet\\Enum",
    };
    /* these are Wine's own, of which Windows has none */
    static const WCHAR *const wines[] = {L"Software\\Wine", L"Hardware"};

    if (chars < MACHINE_CHARS || !path_same_name(path, MACHINE, MACHINE_CHARS))
        return chars == MACHINE_CHARS - 1 && path_same_name(path, MACHINE, MACHINE_CHARS - 1) ? READ_ONLY : ALLOWED;
    path += MACHINE_CHARS;
    chars -= MACHINE_CHARS;
    for (unsigned i = 0; i < sizeof(wines) / sizeof(wines[0]); i++)
        if (below(path, chars, wines[i]))
            return ALLOWED;
    if (below(path, chars, read[0]) && is_filling())
        return ALLOWED;
    for (unsigned i = 0; i < sizeof(read) / sizeof(read[0]); i++)
        if (below(path, chars, read[i]))
            return READ_ONLY;
    return DENIED;
}

struct key_name
{
    ULONG size;
    WCHAR text[NAME_CHARS];
};

/* The verdict on an open key. One with a longer name than any that is excepted is like those above it. */
static enum verdict judge_key(HANDLE key)
{
    struct key_name name;
    ULONG length;
    NTSTATUS status = NtQueryKey(key, KEY_NAME, &name, sizeof(name), &length);

    if (status && status != STATUS_BUFFER_OVERFLOW)
        return ALLOWED;
    return judge(name.text, min(name.size, sizeof(name.text)) / sizeof(WCHAR));
}

/* The verdict on a key that is not there yet. */
static enum verdict judge_new(const OBJECT_ATTRIBUTES *attributes)
{
    const UNICODE_STRING *tail = attributes->ObjectName;
    struct key_name name = {0};
    ULONG chars = 0, length;

    if (attributes->RootDirectory)
    {
        NTSTATUS status = NtQueryKey(attributes->RootDirectory, KEY_NAME, &name, sizeof(name), &length);

        if (status)
            return status == STATUS_BUFFER_OVERFLOW ? judge(name.text, NAME_CHARS) : ALLOWED;
        chars = name.size / sizeof(WCHAR);
        if (chars < NAME_CHARS)
            name.text[chars++] = '\\';
    }
    for (ULONG i = 0; tail && i < tail->Length / sizeof(WCHAR) && chars < NAME_CHARS; i++)
        name.text[chars++] = tail->Buffer[i];
    return judge(name.text, chars);
}

static ACCESS_MASK reading(ACCESS_MASK access)
{
    return (access & ~(ACCESS_MASK)(WRITES | MAXIMUM_ALLOWED)) | KEY_READ;
}

/* Opens a key for reading, and says in *verdict whether that is all. */
static NTSTATUS open_for_reading(HANDLE *key, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes, ULONG options,
                                 enum verdict *verdict)
{
    NTSTATUS status = options && original_open_ex ? original_open_ex(key, reading(access), attributes, options)
                                                  : original_open(key, reading(access), attributes);

    if (!status)
        *verdict = judge_key(*key);
    if (!status && access & MAXIMUM_ALLOWED && *verdict == DENIED && !(access & WRITES))
        *verdict = READ_ONLY;
    return status;
}

static NTSTATUS open_key(HANDLE *key, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes, ULONG options)
{
    enum verdict verdict;
    NTSTATUS status;

    if (!key || !attributes || !(access & (WRITES | MAXIMUM_ALLOWED)))
        return options && original_open_ex ? original_open_ex(key, access, attributes, options)
                                           : original_open(key, access, attributes);
    if ((status = open_for_reading(key, access, attributes, options, &verdict)) || verdict == READ_ONLY)
        return status;
    NtClose(*key);
    *key = NULL;
    if (verdict == DENIED)
        return STATUS_ACCESS_DENIED;
    return options && original_open_ex ? original_open_ex(key, access, attributes, options)
                                       : original_open(key, access, attributes);
}

static NTSTATUS WINAPI hook_NtOpenKey(HANDLE *key, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes)
{
    return open_key(key, access, attributes, 0);
}

static NTSTATUS WINAPI hook_NtOpenKeyEx(HANDLE *key, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes,
                                        ULONG options)
{
    return open_key(key, access, attributes, options);
}

static NTSTATUS WINAPI hook_NtCreateKey(HANDLE *key, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes,
                                        ULONG index, const UNICODE_STRING *class, ULONG options, ULONG *disposition)
{
    enum verdict verdict;
    NTSTATUS status;

    if (!key || !attributes)
        return original_create(key, access, attributes, index, class, options, disposition);
    status = open_for_reading(key, access, attributes, options & REG_OPTION_OPEN_LINK, &verdict);
    if (status == STATUS_OBJECT_NAME_NOT_FOUND)
        return judge_new(attributes) == ALLOWED
                   ? original_create(key, access, attributes, index, class, options, disposition)
                   : STATUS_ACCESS_DENIED;
    if (status)
        return status;
    if (verdict == READ_ONLY || (verdict == DENIED && !(access & WRITES)))
    {
        if (disposition)
            *disposition = OPENED_EXISTING_KEY;
        return STATUS_SUCCESS;
    }
    NtClose(*key);
    *key = NULL;
    return verdict == DENIED ? STATUS_ACCESS_DENIED
                             : original_create(key, access, attributes, index, class, options, disposition);
}

/* Programs of Wine's that serve the container, and write what they serve. */
static BOOL serves(void)
{
    static const WCHAR *const names[] = {L"winedevice.exe", L"plugplay.exe", L"rpcss.exe",      L"svchost.exe",
                                         L"wineboot.exe",   L"explorer.exe", L"mullion-run.exe"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (program_is(names[i]))
            return TRUE;
    return FALSE;
}

BOOL machinekey_restricts(void)
{
    return original_open != NULL;
}

void machinekey_stores_begin(void)
{
    TlsSetValue(filling, (void *)((ULONG_PTR)TlsGetValue(filling) + 1));
}

void machinekey_stores_end(void)
{
    TlsSetValue(filling, (void *)((ULONG_PTR)TlsGetValue(filling) - 1));
}

void machinekey_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    int fd;

    if (lx_getuid() == UID_ADMINISTRATOR || serves() ||
        (fd = lx_openat(LX_AT_FDCWD, CONTAINER, LX_O_PATH | LX_O_CLOEXEC)) < 0)
        return;
    lx_close(fd);
    if ((filling = TlsAlloc()) == TLS_OUT_OF_INDEXES)
        return;
    if (!patch_function(ntdll, "NtOpenKey", hook_NtOpenKey, (void **)&original_open))
        return;
    patch_function(ntdll, "NtOpenKeyEx", hook_NtOpenKeyEx, (void **)&original_open_ex);
    patch_function(ntdll, "NtCreateKey", hook_NtCreateKey, (void **)&original_create);
}
