/*
 * Delivering a control event to the programs of a container, as Windows does when it shuts a container down. A program
 * gets the event through its handler from SetConsoleCtrlHandler (Go: os/signal reports SIGTERM for close, logoff and
 * shutdown, SIGINT for c and break); without a handler it ends with 0xC000013A. Wine delivers such events only through
 * a console, which programs with pipes do not have; so kernelbase!CtrlRoutine, what a console calls too, is started in
 * each process as a thread.
 */
#include "run.h"
#include "ctrlexit.h"
#include <psapi.h>
#include <tlhelp32.h>
#include <winternl.h>

enum
{
    DELIVER_MS = 5000 /* it takes a few milliseconds, and more on a busy machine */
};

/* Programs of Wine itself that serve a prefix, and this one: they are not the container's programs. */
static BOOL is_helper(const WCHAR *name)
{
    static const WCHAR *const helpers[] = {L"mullion-run.exe", L"services.exe", L"winedevice.exe", L"plugplay.exe",
                                           L"svchost.exe",     L"rpcss.exe",    L"explorer.exe",   L"conhost.exe",
                                           L"wineboot.exe",    L"start.exe"};

    for (unsigned i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
        if (!run_str_casecmp(name, helpers[i]))
            return TRUE;
    return FALSE;
}

static BOOL deliver(DWORD pid, DWORD event)
{
    HANDLE process = OpenProcess(PROCESS_CREATE_THREAD | PROCESS_QUERY_INFORMATION | PROCESS_VM_OPERATION |
                                     PROCESS_VM_READ | PROCESS_VM_WRITE,
                                 FALSE, pid);
    FARPROC routine = GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine");
    HANDLE thread = NULL;

    if (process)
        ctrl_exit_code(process);
    if (process && routine)
        thread = CreateRemoteThread(process, NULL, 0x10000, (LPTHREAD_START_ROUTINE)(void *)routine,
                                    (void *)(ULONG_PTR)event, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (thread)
        CloseHandle(thread);
    if (process)
        CloseHandle(process);
    return thread != NULL;
}

static DWORD WINAPI deliver_thread(void *argument)
{
    const ULONGLONG both = (ULONG_PTR)argument;

    return deliver((DWORD)both, (DWORD)(both >> 32));
}

/*
 * deliver_in_time is deliver with a bound. Fact (Wine 8.0, seen once, as PostgreSQL ended): CreateRemoteThread may
 * never return. The other process had ended by then; it looks as if what Wine asks of a process that ends just then is
 * not answered.
 */
static BOOL deliver_in_time(DWORD pid, DWORD event)
{
    HANDLE thread = CreateThread(NULL, 0, deliver_thread, (void *)(ULONG_PTR)(pid | (ULONGLONG)event << 32), 0, NULL);
    DWORD sent = FALSE;

    if (!thread)
        return deliver(pid, event);
    if (WaitForSingleObject(thread, DELIVER_MS) || !GetExitCodeThread(thread, &sent))
        sent = FALSE;
    CloseHandle(thread);
    return (BOOL)sent;
}

static BOOL event_number(const WCHAR *name, DWORD *event)
{
    static const struct
    {
        const WCHAR *name;
        DWORD event;
    } table[] = {{L"c", CTRL_C_EVENT},
                 {L"break", CTRL_BREAK_EVENT},
                 {L"close", CTRL_CLOSE_EVENT},
                 {L"logoff", CTRL_LOGOFF_EVENT},
                 {L"shutdown", CTRL_SHUTDOWN_EVENT}};

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (run_str_equal(name, table[i].name))
        {
            *event = table[i].event;
            return TRUE;
        }
    return FALSE;
}

/*
 * is_graphical returns whether a program has no console of its own accord. Windows sends control events to the
 * processes of a console, and when a container of Windows Server 2019 or 2022 ends, its windows are told nothing
 * either, neither by WM_QUERYENDSESSION nor by WM_CLOSE (https://github.com/rgl/docker-windows-2022-vagrant, "Graceful
 * Container Shutdown"): such a program runs on until it is killed.
 */
static BOOL is_graphical(DWORD pid)
{
    HANDLE process = OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE, pid);
    PROCESS_BASIC_INFORMATION info;
    IMAGE_DOS_HEADER dos;
    IMAGE_NT_HEADERS64 header; /* Subsystem lies in the same place in a program of 32 bits */
    BYTE *image;
    SIZE_T done;
    BOOL graphical = FALSE;

    if (!process)
        return FALSE;
    if (!NtQueryInformationProcess(process, ProcessBasicInformation, &info, sizeof(info), NULL) &&
        ReadProcessMemory(process, (BYTE *)info.PebBaseAddress + 0x10 /* ImageBaseAddress */, &image, sizeof(image),
                          &done) &&
        ReadProcessMemory(process, image, &dos, sizeof(dos), &done) &&
        ReadProcessMemory(process, image + dos.e_lfanew, &header, sizeof(header), &done))
        graphical = header.OptionalHeader.Subsystem == IMAGE_SUBSYSTEM_WINDOWS_GUI;
    CloseHandle(process);
    return graphical;
}

/*
 * run_send_ctrl delivers an event. Services do not get it: they are told by their control handlers, and Windows'
 * default handler does not end them either, as Wine's would. It returns 0 if at least one program got the event, 1 if
 * there was none.
 */
int run_send_ctrl(const struct options *opt)
{
    PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
    HANDLE snapshot;
    DWORD event = 0;
    BOOL sent = FALSE;

    if (!event_number(opt->ctrl, &event))
    {
        run_say(L"no such control event: ", opt->ctrl, L" (known: c, break, close, logoff, shutdown)");
        return EXIT_USAGE;
    }
    if (opt->pid)
        return !is_graphical(opt->pid) && deliver_in_time(opt->pid, event) ? 0 : 1;
    if (event == CTRL_SHUTDOWN_EVENT)
        run_tell_services();
    snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    if (snapshot == INVALID_HANDLE_VALUE)
        return 1;
    for (BOOL more = Process32FirstW(snapshot, &entry); more; more = Process32NextW(snapshot, &entry))
    {
        if (entry.th32ProcessID == GetCurrentProcessId() || is_helper(entry.szExeFile) ||
            run_is_service(entry.th32ProcessID) || is_graphical(entry.th32ProcessID))
            continue;
        if (deliver_in_time(entry.th32ProcessID, event))
            sent = TRUE;
    }
    CloseHandle(snapshot);
    return sent ? 0 : 1;
}
