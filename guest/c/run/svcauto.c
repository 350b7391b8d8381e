/*
 * Services that start automatically: Wine's services.exe, which starts them, is not there until a program asks for it
 * (services.c). So whoever boots a prefix looks whether there are any. They are the image's, or those that programs
 * have made or set so, wherever they lie: Wine's own are disabled in the registry that a container begins with.
 */
#include "run.h"
#include <winternl.h>

enum
{
    START_AUTOMATIC = 2,
    TYPE_WIN32 = 0x30,
    NAME_BYTES = 520
};

NTSTATUS NTAPI NtOpenKey(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *);
NTSTATUS NTAPI NtEnumerateKey(HANDLE, ULONG, ULONG, void *, ULONG, ULONG *);
NTSTATUS NTAPI NtQueryValueKey(HANDLE, UNICODE_STRING *, ULONG, void *, ULONG, ULONG *);

struct basic_information /* KEY_BASIC_INFORMATION */
{
    LARGE_INTEGER written;
    ULONG title, length;
    WCHAR name[NAME_BYTES / sizeof(WCHAR)];
};

struct number_information /* KEY_VALUE_PARTIAL_INFORMATION of a number */
{
    ULONG title, type, length, data;
};

static void init_string(UNICODE_STRING *s, const WCHAR *text)
{
    s->Length = (USHORT)(run_str_len(text) * sizeof(WCHAR));
    s->MaximumLength = (USHORT)(s->Length + sizeof(WCHAR));
    s->Buffer = (WCHAR *)(ULONG_PTR)text;
}

static HANDLE open_key(HANDLE root, const WCHAR *name)
{
    OBJECT_ATTRIBUTES attributes = {
        .Length = sizeof(attributes), .RootDirectory = root, .Attributes = OBJ_CASE_INSENSITIVE};
    UNICODE_STRING text;
    HANDLE key = NULL;

    init_string(&text, name);
    attributes.ObjectName = &text;
    return NtOpenKey(&key, KEY_READ, &attributes) < 0 ? NULL : key;
}

/* number reads a number; one that is not there is 0, and so is what is no number. */
static ULONG number(HANDLE key, const WCHAR *name)
{
    struct number_information value;
    UNICODE_STRING text;
    ULONG size;

    init_string(&text, name);
    if (NtQueryValueKey(key, &text, 2 /* KeyValuePartialInformation */, &value, sizeof(value), &size) < 0 ||
        value.type != REG_DWORD || value.length != sizeof(value.data))
        return 0;
    return value.data;
}

static BOOL is_automatic(HANDLE key)
{
    return number(key, L"Start") == START_AUTOMATIC && (number(key, L"Type") & TYPE_WIN32);
}

static BOOL has_automatic(void)
{
    HANDLE root = open_key(NULL, L"\\Registry\\Machine\\System\\CurrentControlSet\\Services"), key;
    struct basic_information info;
    ULONG size;
    BOOL found = FALSE;

    for (ULONG i = 0;
         root && !found &&
         NtEnumerateKey(root, i, 0 /* KeyBasicInformation */, &info, sizeof(info) - sizeof(WCHAR), &size) >= 0;
         i++)
    {
        info.name[info.length / sizeof(WCHAR)] = 0;
        if (!(key = open_key(root, info.name)))
            continue;
        found = is_automatic(key);
        CloseHandle(key);
    }
    if (root)
        CloseHandle(root);
    return found;
}

void run_start_automatic_services(void)
{
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION child;
    WCHAR line[] = L"mullion-run.exe --services";

    if (!has_automatic() || !CreateProcessW(L"C:\\windows\\system32\\mullion-run.exe", line, NULL, NULL, FALSE,
                                            DETACHED_PROCESS, NULL, L"C:\\windows\\system32", &startup, &child))
        return;
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
}
