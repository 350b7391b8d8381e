/* Wine 8 clears 960 KiB of every new thread's stack, which makes them resident for nothing. */
#include "stacks.h"

#include <winternl.h>

/* sub %rdi,%rcx; xor %eax,%eax; shr $3,%rcx: the code before the instruction in ntdll's signal_start_thread */
static const BYTE before[] = {0x48, 0x29, 0xf9, 0x31, 0xc0, 0x48, 0xc1, 0xe9, 0x03};
static const BYTE clearing[] = {0xf3, 0x48, 0xab}, nop[] = {0x90, 0x90, 0x90}; /* rep stosq */

NTSTATUS NTAPI NtWriteVirtualMemory(HANDLE process, void *at, const void *data, SIZE_T size, SIZE_T *written);

static BOOL equal(const BYTE *a, const BYTE *b, SIZE_T n)
{
    while (n && a[n - 1] == b[n - 1])
        n--;
    return n == 0;
}

/* Finds the instruction between two places in this process, in which it may be replaced already; NULL: it is not. */
static BYTE *find_between(BYTE *from, BYTE *to)
{
    for (BYTE *p = from; p < to; p++)
    {
        BYTE *found = p + sizeof(before);

        if (equal(p, before, sizeof(before)) &&
            (equal(found, clearing, sizeof(clearing)) || equal(found, nop, sizeof(nop))))
            return found;
    }
    return NULL;
}

/*
 * Finds the instruction in this process; NULL if ntdll has no such code. signal_start_thread has no name there, but in
 * Wine 8 it is what comes before DbgBreakPoint (dlls/ntdll/signal_x86_64.c): all of the code takes 0.5 ms to be looked
 * through.
 */
static BYTE *find_stack_clearing(void)
{
    enum
    {
        BACK = 0x80
    };
    BYTE *base = (BYTE *)GetModuleHandleW(L"ntdll.dll"), *found;
    IMAGE_NT_HEADERS64 *header = (IMAGE_NT_HEADERS64 *)(void *)(base + ((IMAGE_DOS_HEADER *)(void *)base)->e_lfanew);
    BYTE *start = base + header->OptionalHeader.BaseOfCode;
    BYTE *end = start + header->OptionalHeader.SizeOfCode - sizeof(before) - sizeof(clearing);
    BYTE *next = (BYTE *)(void *)GetProcAddress((HMODULE)base, "DbgBreakPoint");

    if (next >= start + BACK && next < end && (found = find_between(next - BACK, next)))
        return found;
    return find_between(start, end);
}

void stacks_spare(HANDLE process)
{
    BYTE *where = find_stack_clearing(), now[sizeof(clearing)];
    SIZE_T done;

    if (!where || !ReadProcessMemory(process, where, now, sizeof(now), &done) ||
        !equal(now, clearing, sizeof(clearing)))
        return;
    NtWriteVirtualMemory(process, where, nop, sizeof(nop), &done); /* writes what may not be written, as a debugger */
}
