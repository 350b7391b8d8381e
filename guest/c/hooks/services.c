/*
 * Wine's services on demand. A container starts without them: they cost 0.5 s and 25 MB, and few programs need them.
 * When a program opens a device or pipe of a service that does not run, `mullion-run.exe --services` starts the
 * services (guest/c/run/services.c, at most once in the life of a prefix), and the open is repeated.
 */
#include "services.h"

#include <string.h>

#include "children.h"
#include "hooks.h"
#include "path.h"
#include "program.h"

enum
{
    START_MS = 40000, /* more than mullion-run.exe allows itself */
    PAUSE_MS = 20,    /* between two attempts to open a device of a service that has just started */
    ATTEMPTS = 100,
    AGAIN_MS = 10000 /* no second start sooner: a device missing with services running stays missing */
};

static const WCHAR launcher[] = L"C:\\windows\\system32\\mullion-run.exe";

/*
 * Lets one thread at a time start the services. A thread may hold it on its way out of a DLL's entry point, so every
 * wait for it has a limit.
 */
static HANDLE turn;
static BOOL tried;
static DWORD tried_at, result;

/* Cuts prefix off the name, without regard to case. */
static BOOL cut(UNICODE_STRING *name, const WCHAR *prefix)
{
    USHORT length = (USHORT)wcslen(prefix);

    if (name->Length < length * sizeof(WCHAR) || !path_same_name(name->Buffer, prefix, length))
        return FALSE;
    name->Buffer += length;
    name->Length -= length * sizeof(WCHAR);
    return TRUE;
}

static BOOL is_rest(const UNICODE_STRING *name, const WCHAR *rest)
{
    ULONG length = (ULONG)wcslen(rest);

    return name->Length == length * sizeof(WCHAR) && path_same_name(name->Buffer, rest, length);
}

/*
 * Whether services.exe, or a driver that it starts, provides the named object: the network interfaces, the volumes,
 * the service control manager.
 */
static BOOL is_provided(const OBJECT_ATTRIBUTES *attributes)
{
    UNICODE_STRING name;

    if (!attributes || attributes->RootDirectory || !attributes->ObjectName)
        return FALSE;
    name = *attributes->ObjectName;
    if (!cut(&name, L"\\??\\") && !cut(&name, L"\\DosDevices\\") && !cut(&name, L"\\GLOBAL??\\") &&
        !cut(&name, L"\\Device\\"))
        return FALSE;
    if (cut(&name, L"pipe\\") || cut(&name, L"NamedPipe\\"))
        return is_rest(&name, L"svcctl");
    return is_rest(&name, L"Nsi") || is_rest(&name, L"MountPointManager");
}

static BOOL is_missing(NTSTATUS status)
{
    return status == STATUS_OBJECT_NAME_NOT_FOUND || status == STATUS_OBJECT_PATH_NOT_FOUND ||
           status == STATUS_NO_SUCH_DEVICE || status == STATUS_BAD_DEVICE_TYPE || status == STATUS_PIPE_NOT_AVAILABLE;
}

/*
 * Whether this process belongs to the start of the services. Those processes are started without hooks; this covers
 * one that loaded them nevertheless.
 */
static BOOL is_starting(void)
{
    return program_is(L"mullion-run.exe") || program_is(L"services.exe") || program_is(L"winedevice.exe");
}

/* Runs the launcher to its end; TRUE: the services are up. */
static BOOL run_launcher(void)
{
    static const WCHAR line[] = L"mullion-run.exe --services";
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION process;
    DWORD code = 1;
    WCHAR command[sizeof(line) / sizeof(WCHAR)];

    memcpy(command, line, sizeof(line)); /* CreateProcessW may write to it */
    if (!children_start_unhooked(launcher, command, DETACHED_PROCESS, L"C:\\windows\\system32", &startup, &process))
        return FALSE;
    if (WaitForSingleObject(process.hProcess, START_MS) == WAIT_OBJECT_0)
        GetExitCodeProcess(process.hProcess, &code);
    CloseHandle(process.hThread);
    CloseHandle(process.hProcess);
    return code == 0;
}

static BOOL bring_up(void)
{
    DWORD error = GetLastError();
    HANDLE created;
    BOOL up;

    if (!turn && (created = CreateMutexW(NULL, FALSE, NULL)) && InterlockedCompareExchangePointer(&turn, created, NULL))
        CloseHandle(created); /* another thread was first */
    if (!turn || WaitForSingleObject(turn, START_MS) == WAIT_TIMEOUT)
        return FALSE;
    if (!tried || GetTickCount() - tried_at > AGAIN_MS)
    {
        result = !is_starting() && GetFileAttributesW(launcher) != INVALID_FILE_ATTRIBUTES && run_launcher();
        tried = TRUE;
        tried_at = GetTickCount();
    }
    up = (BOOL)result;
    ReleaseMutex(turn);
    SetLastError(error);
    return up;
}

BOOL services_try_again(NTSTATUS status, const OBJECT_ATTRIBUTES *attributes, unsigned attempt)
{
    LARGE_INTEGER pause = {.QuadPart = -10000LL * PAUSE_MS};

    if (!is_missing(status) || !is_provided(attributes) || attempt >= ATTEMPTS)
        return FALSE;
    if (!attempt)
        return bring_up();
    NtDelayExecution(FALSE, &pause);
    return TRUE;
}

static NTSTATUS WINAPI hook_NtCreateFile(HANDLE *handle, ACCESS_MASK access, OBJECT_ATTRIBUTES *attributes,
                                         IO_STATUS_BLOCK *io, LARGE_INTEGER *size, ULONG file_attributes, ULONG share,
                                         ULONG disposition, ULONG options, void *ea, ULONG ea_length)
{
    unsigned attempt = 0;
    NTSTATUS status;

    do
        status = originals.NtCreateFile(handle, access, attributes, io, size, file_attributes, share, disposition,
                                        options, ea, ea_length);
    while (services_try_again(status, attributes, attempt++));
    return status;
}

static NTSTATUS WINAPI hook_NtOpenFile(HANDLE *handle, ACCESS_MASK access, OBJECT_ATTRIBUTES *attributes,
                                       IO_STATUS_BLOCK *io, ULONG share, ULONG options)
{
    unsigned attempt = 0;
    NTSTATUS status;

    do
        status = originals.NtOpenFile(handle, access, attributes, io, share, options);
    while (services_try_again(status, attributes, attempt++));
    return status;
}

void services_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    PATCH(ntdll, NtCreateFile);
    PATCH(ntdll, NtOpenFile);
}
