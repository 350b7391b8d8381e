/*
 * The hooks in the programs that a hooked program starts: a shell in a container, and what the shell starts. Programs
 * that load bcryptprimitives.dll would get them anyway; the others (cmd.exe with mklink, Node.js, Python) would not.
 *
 * Fact (Wine 8.0): an APC queued to the first thread of a suspended process runs after the process has been set up and
 * before the program's entry point, as on Windows. kernel32.dll lies at the same address in all processes of a prefix.
 */
#include "children.h"

#include "hooks.h"
#include "priority.h"
#include "scm.h"
#include "stacks.h"
#include "heap.h"
#include "zones.h"

typedef BOOL(WINAPI *create_process_internal)(HANDLE, const WCHAR *, WCHAR *, SECURITY_ATTRIBUTES *,
                                              SECURITY_ATTRIBUTES *, BOOL, DWORD, void *, const WCHAR *, STARTUPINFOW *,
                                              PROCESS_INFORMATION *, HANDLE *);

static create_process_internal original_create_process;

enum
{
    TURN_MS = 30000 /* a descriptor that is kept does less harm than a program that does not start */
};

/*
 * Lets one thread at a time start a program. Wine copies the descriptors of a child's input and output without
 * FD_CLOEXEC, forks and closes the copies (Wine 8.0, dlls/ntdll/unix/process.c, spawn_process). A child that another
 * thread starts meanwhile would get them too, and so would all that it starts: who waits for the end of that output
 * would wait for them. A mutex, because its owner may be terminated.
 */
static HANDLE turn;

static BOOL create_process(HANDLE token, const WCHAR *application, WCHAR *command,
                           SECURITY_ATTRIBUTES *process_security, SECURITY_ATTRIBUTES *thread_security, BOOL inherit,
                           DWORD flags, void *environment, const WCHAR *folder, STARTUPINFOW *startup,
                           PROCESS_INFORMATION *process, HANDLE *new_token)
{
    DWORD waited = WaitForSingleObject(turn, TURN_MS);
    BOOL started = original_create_process(token, application, command, process_security, thread_security, inherit,
                                           flags, environment, folder, startup, process, new_token);
    DWORD error = GetLastError();

    if (waited == WAIT_OBJECT_0 || waited == WAIT_ABANDONED)
        ReleaseMutex(turn);
    SetLastError(error);
    return started;
}

/*
 * Makes the process load this library first. If that fails, the process runs without it. name is memory in it, or NULL.
 */
static void load_into(const PROCESS_INFORMATION *process, void *name)
{
    static const WCHAR library[] = L"mullionhook.dll";
    void *load = (void *)GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "LoadLibraryW");
    SIZE_T done;

    if (!name)
        name = VirtualAllocEx(process->hProcess, NULL, sizeof(library), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (name && load && WriteProcessMemory(process->hProcess, name, library, sizeof(library), &done))
        QueueUserAPC((PAPCFUNC)load, process->hThread, (ULONG_PTR)name);
}

static BOOL WINAPI hook_CreateProcessInternalW(HANDLE token, const WCHAR *application, WCHAR *command,
                                               SECURITY_ATTRIBUTES *process_security,
                                               SECURITY_ATTRIBUTES *thread_security, BOOL inherit, DWORD flags,
                                               void *environment, const WCHAR *folder, STARTUPINFOW *startup,
                                               PROCESS_INFORMATION *process, HANDLE *new_token)
{
    BOOL hookless = scm_here() && scm_own(application ? application : command), started;
    struct scm_service *service = hookless ? NULL : scm_starting();
    WCHAR *merged = scm_environment(service, environment);
    HANDLE output = startup && !(flags & EXTENDED_STARTUPINFO_PRESENT) ? scm_output(service) : NULL;
    STARTUPINFOW writing;
    DWORD error;

    if (output)
    {
        writing = *startup;
        writing.dwFlags |= STARTF_USESTDHANDLES;
        writing.hStdInput = NULL;
        writing.hStdOutput = writing.hStdError = output;
        startup = &writing;
        inherit = TRUE;
    }

    started = create_process(token, application, command, process_security, thread_security, inherit,
                             flags | CREATE_SUSPENDED, merged ? merged : environment, folder, startup, process,
                             new_token);
    error = GetLastError();
    if (merged)
        heap_free(merged);
    if (output)
        CloseHandle(output);
    scm_watch(service, started ? process : NULL);
    if (!started)
    {
        SetLastError(error);
        return FALSE;
    }
    stacks_spare(process->hProcess);
    priority_child(process->hProcess, flags);
    if (!hookless && !(flags & (DEBUG_PROCESS | DEBUG_ONLY_THIS_PROCESS)))
        load_into(process, zones_spare(process->hProcess));
    if (!(flags & CREATE_SUSPENDED))
        ResumeThread(process->hThread);
    SetLastError(error);
    return TRUE;
}

BOOL children_start_unhooked(const WCHAR *path, WCHAR *command, DWORD flags, const WCHAR *folder, STARTUPINFOW *startup,
                             PROCESS_INFORMATION *process)
{
    if (!original_create_process)
        return CreateProcessW(path, command, NULL, NULL, FALSE, flags, NULL, folder, startup, process);
    return create_process(NULL, path, command, NULL, NULL, FALSE, flags, NULL, folder, startup, process, NULL);
}

void children_start(void)
{
    turn = CreateMutexW(NULL, FALSE, NULL);
    patch_function(GetModuleHandleW(L"kernelbase.dll"), "CreateProcessInternalW", hook_CreateProcessInternalW,
                   (void **)&original_create_process);
}
