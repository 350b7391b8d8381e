/*
 * Delivering a control event to the programs of a container, as Windows does when it shuts a container down. A program
 * gets the event through its handler from SetConsoleCtrlHandler (Go: os/signal reports SIGTERM for close, logoff and
 * shutdown, SIGINT for c and break); without a handler it ends with 0xC000013A. Wine delivers such events only through
 * a console, which programs with pipes do not have; so kernelbase!CtrlRoutine, what a console calls too, is started in
 * each process as a thread.
 */
#include "run.h"
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
    static const WCHAR *const helpers[] = {L"mullion-run.exe", L"services.exe", L"winedevice.exe", L"plugplay.exe", L"svchost.exe",
                                           L"rpcss.exe",       L"explorer.exe", L"conhost.exe",    L"wineboot.exe", L"start.exe"};

    for (unsigned i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
        if (!str_casecmp(name, helpers[i]))
            return TRUE;
    return FALSE;
}

/*
 * default_handler finds the handler of programs without a handler of their own. In this process, which has none, it is
 * the only entry of the list that CtrlRoutine walks. The first `mov reg,[rip+n]` in CtrlRoutine that leads to a list
 * entry in kernelbase's own memory is that list. NULL if the code looks different.
 */
static BYTE *default_handler(const BYTE *routine)
{
    const BYTE *base = (const BYTE *)GetModuleHandleW(L"kernelbase.dll");
    const IMAGE_NT_HEADERS64 *header = (const IMAGE_NT_HEADERS64 *)(const void *)(base + ((const IMAGE_DOS_HEADER *)(const void *)base)->e_lfanew);
    const BYTE *end = base + header->OptionalHeader.SizeOfImage, *code_end = base + header->OptionalHeader.BaseOfCode + header->OptionalHeader.SizeOfCode;

    for (const BYTE *p = routine; p < routine + 0x100; p++)
    {
        const BYTE *list, *const *entry;

        if (p[0] != 0x48 || p[1] != 0x8b || (p[2] & 0xc7) != 0x05)
            continue;
        list = p + 7 + *(const LONG *)(const void *)(p + 3);
        if (list < code_end || list + 8 > end)
            continue;
        entry = *(const BYTE *const *const *)(const void *)list;
        if ((const BYTE *)entry < code_end || (const BYTE *)entry + 16 > end)
            continue;
        if (entry[0] > base && entry[0] < code_end && !entry[1])
            return (BYTE *)(ULONG_PTR)entry[0];
    }
    return NULL;
}

/*
 * correct_exit_code makes the default handler end the process with STATUS_CONTROL_C_EXIT, as on Windows; Wine 8's ends it with 0, which would look like success.
 * The handler's beginning becomes: mov $0xc000013a,%ecx; mov $RtlExitUserProcess,%rax; sub $0x28,%rsp; call *%rax.
 */
static void correct_exit_code(HANDLE process, const BYTE *routine)
{
    BYTE code[] = {0xb9, 0x3a, 0x01, 0x00, 0xc0, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0x83, 0xec, 0x28, 0xff, 0xd0};
    FARPROC exit_process = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlExitUserProcess");
    BYTE *handler = default_handler(routine), first[5];
    DWORD old;
    SIZE_T done;

    if (!handler || !exit_process || !ReadProcessMemory(process, handler, first, sizeof(first), &done))
        return;
    if (first[0] != handler[0] || first[1] != handler[1])
        return; /* done already, or kernelbase lies elsewhere */
    memcpy(code + 7, &exit_process, sizeof(exit_process));
    if (!VirtualProtectEx(process, handler, sizeof(code), PAGE_EXECUTE_READWRITE, &old))
        return;
    WriteProcessMemory(process, handler, code, sizeof(code), &done);
    VirtualProtectEx(process, handler, sizeof(code), old, &old);
}

void prepare_ctrl(HANDLE process)
{
    FARPROC routine = GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine");

    if (routine)
        correct_exit_code(process, (const BYTE *)(void *)routine);
}

static BOOL deliver(DWORD pid, DWORD event)
{
    HANDLE process = OpenProcess(PROCESS_CREATE_THREAD | PROCESS_QUERY_INFORMATION | PROCESS_VM_OPERATION | PROCESS_VM_READ | PROCESS_VM_WRITE, FALSE, pid);
    FARPROC routine = GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine");
    HANDLE thread = NULL;

    if (process)
        prepare_ctrl(process);
    if (process && routine)
        thread = CreateRemoteThread(process, NULL, 0x10000, (LPTHREAD_START_ROUTINE)(void *)routine, (void *)(ULONG_PTR)event,
                                    STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
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
 * deliver_in_time is deliver with a bound. Fact (Wine 8.0, seen once, as PostgreSQL ended): CreateRemoteThread may never
 * return. The other process had ended by then; it looks as if what Wine asks of a process that ends just then is not
 * answered.
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
    } table[] = {
        {L"c", CTRL_C_EVENT}, {L"break", CTRL_BREAK_EVENT}, {L"close", CTRL_CLOSE_EVENT}, {L"logoff", CTRL_LOGOFF_EVENT}, {L"shutdown", CTRL_SHUTDOWN_EVENT}};

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (str_equal(name, table[i].name))
        {
            *event = table[i].event;
            return TRUE;
        }
    return FALSE;
}

/*
 * is_graphical returns whether a program has no console of its own accord. Windows sends control events to the processes of a console, and when a container of
 * Windows Server 2019 or 2022 ends, its windows are told nothing either, neither by WM_QUERYENDSESSION nor by WM_CLOSE
 * (https://github.com/rgl/docker-windows-2022-vagrant, "Graceful Container Shutdown"): such a program runs on until it is killed.
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
        ReadProcessMemory(process, (BYTE *)info.PebBaseAddress + 0x10 /* ImageBaseAddress */, &image, sizeof(image), &done) &&
        ReadProcessMemory(process, image, &dos, sizeof(dos), &done) && ReadProcessMemory(process, image + dos.e_lfanew, &header, sizeof(header), &done))
        graphical = header.OptionalHeader.Subsystem == IMAGE_SUBSYSTEM_WINDOWS_GUI;
    CloseHandle(process);
    return graphical;
}

/*
 * send_ctrl delivers an event. Services do not get it: they are told by their control handlers, and Windows' default handler does not end them either, as
 * Wine's would. It returns 0 if at least one program got the event, 1 if there was none.
 */
int send_ctrl(const struct options *opt)
{
    PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
    HANDLE snapshot;
    DWORD event = 0;
    BOOL sent = FALSE;

    if (!event_number(opt->ctrl, &event))
    {
        say(L"no such control event: ", opt->ctrl, L" (known: c, break, close, logoff, shutdown)");
        return EXIT_USAGE;
    }
    if (opt->pid)
        return !is_graphical(opt->pid) && deliver_in_time(opt->pid, event) ? 0 : 1;
    if (event == CTRL_SHUTDOWN_EVENT)
        tell_services();
    snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    if (snapshot == INVALID_HANDLE_VALUE)
        return 1;
    for (BOOL more = Process32FirstW(snapshot, &entry); more; more = Process32NextW(snapshot, &entry))
    {
        if (entry.th32ProcessID == GetCurrentProcessId() || is_helper(entry.szExeFile) || is_service(entry.th32ProcessID) || is_graphical(entry.th32ProcessID))
            continue;
        if (deliver_in_time(entry.th32ProcessID, event))
            sent = TRUE;
    }
    CloseHandle(snapshot);
    return sent ? 0 : 1;
}
