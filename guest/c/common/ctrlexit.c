/* The exit code of a program that a control event ends. */
#include "ctrlexit.h"

/*
 * default_handler finds the handler of programs without a handler of their own. In this process, which has none, it is
 * the only entry of the list that CtrlRoutine walks. The first `mov reg,[rip+n]` in CtrlRoutine that leads to a list
 * entry in kernelbase's own memory is that list. NULL if the code looks different.
 */
static BYTE *default_handler(const BYTE *routine)
{
    const BYTE *base = (const BYTE *)GetModuleHandleW(L"kernelbase.dll");
    const IMAGE_NT_HEADERS64 *header =
        (const IMAGE_NT_HEADERS64 *)(const void *)(base + ((const IMAGE_DOS_HEADER *)(const void *)base)->e_lfanew);
    const BYTE *end = base + header->OptionalHeader.SizeOfImage,
               *code_end = base + header->OptionalHeader.BaseOfCode + header->OptionalHeader.SizeOfCode;

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
 * Wine 8's default handler ends the process with 0, which looks like success. Its beginning is replaced.
 * It becomes: mov $0xc000013a,%ecx; mov $RtlExitUserProcess,%rax; sub $0x28,%rsp; call *%rax.
 */
void ctrl_exit_code(HANDLE process)
{
    const BYTE *routine = (const BYTE *)(void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine");
    BYTE code[] = {0xb9, 0x3a, 0x01, 0x00, 0xc0, 0x48, 0xb8, 0,    0,    0,   0,
                   0,    0,    0,    0,    0x48, 0x83, 0xec, 0x28, 0xff, 0xd0};
    FARPROC exit_process = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlExitUserProcess");
    BYTE *handler = routine ? default_handler(routine) : NULL, first[5];
    BOOL own = process == GetCurrentProcess(); /* for the calls Wine's server would stop this process */
    DWORD old;
    SIZE_T done;

    if (!handler || !exit_process)
        return;
    if (!own && !ReadProcessMemory(process, handler, first, sizeof(first), &done))
        return;
    if (!own && (first[0] != handler[0] || first[1] != handler[1]))
        return; /* done already, or kernelbase lies elsewhere */
    memcpy(code + 7, &exit_process, sizeof(exit_process));
    if (!VirtualProtectEx(process, handler, sizeof(code), PAGE_EXECUTE_READWRITE, &old))
        return;
    if (own)
        memcpy(handler, code, sizeof(code));
    else
        WriteProcessMemory(process, handler, code, sizeof(code), &done);
    VirtualProtectEx(process, handler, sizeof(code), old, &old);
}
