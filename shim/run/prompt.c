/*
 * Ctrl+C at a command prompt. Windows' cmd.exe survives it: only the program it runs is interrupted. Wine 8's cmd.exe
 * has no handler and ends, and with it an interactive session; so it gets a handler before it runs.
 */
#include "run.h"

static BOOL is_cmd(const WCHAR *path)
{
    const WCHAR *name = path;

    for (const WCHAR *c = path; *c; c++)
        if (*c == '\\')
            name = c + 1;
    return !str_casecmp(name, L"cmd.exe");
}

/*
 * survive_ctrl_c gives the process a handler that ignores Ctrl+C and Ctrl+Break and leaves other events to the
 * default handler.
 */
void survive_ctrl_c(HANDLE process, const WCHAR *path)
{
    BYTE code[] = {
        0x48, 0x83, 0xec, 0x28,                            /* sub $0x28,%rsp */
        0x48, 0x8d, 0x0d, 0x16, 0x00, 0x00, 0x00,          /* lea handler(%rip),%rcx */
        0xba, 0x01, 0x00, 0x00, 0x00,                      /* mov $1,%edx */
        0x48, 0xb8, 0,    0,    0,    0,    0,    0, 0, 0, /* mov $SetConsoleCtrlHandler,%rax */
        0xff, 0xd0,                                        /* call *%rax */
        0x48, 0x83, 0xc4, 0x28,                            /* add $0x28,%rsp */
        0xc3,                                              /* ret */
        0x31, 0xc0,                                        /* handler: xor %eax,%eax */
        0x83, 0xf9, 0x01,                                  /* cmp $1,%ecx (CTRL_BREAK_EVENT) */
        0x0f, 0x96, 0xc0,                                  /* setbe %al */
        0xc3,                                              /* ret */
    };
    FARPROC set_handler = GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "SetConsoleCtrlHandler");
    BYTE *remote;
    HANDLE thread;
    SIZE_T done;

    if (!is_cmd(path) || !set_handler)
        return;
    remote = VirtualAllocEx(process, NULL, sizeof(code), MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE);
    memcpy(code + 18, &set_handler, sizeof(set_handler));
    if (!remote || !WriteProcessMemory(process, remote, code, sizeof(code), &done))
        return;
    thread = CreateRemoteThread(process, NULL, 0, (LPTHREAD_START_ROUTINE)(void *)remote, NULL, 0, NULL);
    if (!thread)
        return;
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}
