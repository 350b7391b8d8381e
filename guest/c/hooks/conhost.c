/*
 * The console host of a program that has a console of its own: it lets go of the program's standard handles.
 *
 * Fact (Wine 8.0 to 10.0, dlls/kernelbase/console.c): a console program that is started by one without a console, as a
 * service is, starts a conhost.exe before anything else. That inherits all that the program lets others inherit, and
 * lives as long as a program uses the console. So whoever reads the program's output to its end would wait for all that
 * the program has started: containerd in dockerd.exe for its shim. Windows' conhost.exe inherits nothing.
 *
 * A handle that was inherited has the same number in both processes. A conhost.exe that has inherited less may have
 * something else by that number.
 */
#include "hooks.h"
#include "path.h"
#include "heap.h"

#define PROCESSES 5 /* SystemProcessInformation */
#define LISTING (64 << 10)
#define LISTING_MAX (4 << 20)

static BOOL is_host_of(const SYSTEM_PROCESS_INFORMATION *p, DWORD program)
{
    static const WCHAR name[] = L"conhost.exe";
    const USHORT length = sizeof(name) / sizeof(WCHAR) - 1;

    return p->InheritedFromUniqueProcessId == (HANDLE)(ULONG_PTR)program && p->ImageName.Buffer &&
           p->ImageName.Length == length * sizeof(WCHAR) && path_same_name(p->ImageName.Buffer, name, length);
}

/* The console host that this program has started; 0: none. */
static DWORD find_host(void)
{
    NTSTATUS status = STATUS_INFO_LENGTH_MISMATCH;
    DWORD found = 0;

    for (ULONG size = LISTING; status == STATUS_INFO_LENGTH_MISMATCH && size <= LISTING_MAX; size *= 2)
    {
        BYTE *list = heap_alloc(size);
        ULONG at = 0, step;

        if (!list)
            return 0;
        status = NtQuerySystemInformation(PROCESSES, list, size, NULL);
        do
        {
            const SYSTEM_PROCESS_INFORMATION *p = (void *)(list + at);

            if (status)
                break;
            if (is_host_of(p, GetCurrentProcessId()))
                found = (DWORD)(ULONG_PTR)p->UniqueProcessId;
            at += step = p->NextEntryOffset;
        } while (step);
        heap_free(list);
    }
    return found;
}

/* Whether a handle is one whose end somebody may wait for, and was inherited. */
static BOOL is_inherited(HANDLE handle)
{
    DWORD flags, type;

    if (!handle || handle == INVALID_HANDLE_VALUE || !GetHandleInformation(handle, &flags) ||
        !(flags & HANDLE_FLAG_INHERIT))
        return FALSE;
    type = GetFileType(handle);
    return type == FILE_TYPE_PIPE || type == FILE_TYPE_DISK;
}

/* Whether this program has a console, of its own or another one's: Wine keeps what it is in the parameters. */
static BOOL has_console(void)
{
    enum
    {
        CONSOLE_HANDLE = 0x10 /* its place */
    };
    const BYTE *parameters = (const BYTE *)RtlGetCurrentPeb()->ProcessParameters;

    return *(const LONG_PTR *)(const void *)(parameters + CONSOLE_HANDLE) > 0;
}

/* Closes what the console host has inherited by a handle of this process. */
static void take_from(HANDLE host, HANDLE handle)
{
    BOOL(WINAPI *same)(HANDLE, HANDLE) =
        (void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CompareObjectHandles");
    HANDLE self = GetCurrentProcess(), copy;
    BOOL inherited;

    if (!same || !DuplicateHandle(host, handle, self, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return;
    inherited = same(copy, handle);
    CloseHandle(copy);
    if (inherited &&
        DuplicateHandle(host, handle, self, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE))
        CloseHandle(copy);
}

void conhost_start(void)
{
    static const DWORD names[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    HANDLE handles[3], host;
    unsigned count = 0;
    DWORD id;

    if (!has_console())
        return;
    for (unsigned i = 0; i < 3; i++)
    {
        HANDLE handle = GetStdHandle(names[i]);
        BOOL known = FALSE;

        for (unsigned j = 0; j < count; j++)
            known |= handles[j] == handle;
        if (!known && is_inherited(handle))
            handles[count++] = handle;
    }
    if (!count || !(id = find_host()) || !(host = OpenProcess(PROCESS_DUP_HANDLE, FALSE, id)))
        return;
    for (unsigned i = 0; i < count; i++)
        take_from(host, handles[i]);
    CloseHandle(host);
}
