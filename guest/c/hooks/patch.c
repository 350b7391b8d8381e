/*
 * Overwriting a function with a jump, keeping a working original.
 *
 * Code of two known forms is patched, everything else is left alone:
 *  - a system-call thunk of Wine's ntdll (measured in Wine 8.0): mov r10,rcx; mov eax,N; test byte [0x7ffe0308],1; jne;
 * syscall; ret; … 32 bytes, position independent, so a copy of them is a working original;
 *  - a function that begins with pushes, register moves and the reservation of its stack frame, or the size of a large
 * one in eax, which can be copied one by one.
 *
 * The jump is five bytes long, to a small page within 2 GB of the module, and is written with one aligned 8-byte store,
 * so a thread that runs through the function at that moment sees the old code or the new, never half of it.
 */
#include "patch.h"

#include <string.h>

#define THUNK_SIZE 32
#define SLOT_SIZE 80
#define PAGE 4096

/* A page of jumps near one module. */
struct island
{
    HMODULE module;
    BYTE *page;
    unsigned used;
};

static struct island islands[12];

static const BYTE thunk_head[] = {0x4c, 0x8b, 0xd1, 0xb8};                         /* mov r10,rcx; mov eax,imm32 */
static const BYTE thunk_test[] = {0xf6, 0x04, 0x25, 0x08, 0x03, 0xfe, 0x7f, 0x01}; /* test byte [0x7ffe0308],1 */
static const BYTE thunk_head_gas[] = {0x49, 0x89, 0xca, 0xb8}; /* the same as another assembler writes it */

static BYTE *slot_near(HMODULE module)
{
    for (unsigned i = 0; i < sizeof(islands) / sizeof(islands[0]); i++)
    {
        struct island *island = &islands[i];

        if (!island->module)
        {
            for (UINT_PTR distance = 0x10000; distance < 0x40000000 && !island->page; distance += 0x10000)
            {
                if (distance < (UINT_PTR)module)
                    island->page = VirtualAlloc((BYTE *)module - distance, PAGE, MEM_RESERVE | MEM_COMMIT,
                                                PAGE_EXECUTE_READWRITE);
                if (!island->page)
                    island->page = VirtualAlloc((BYTE *)module + distance, PAGE, MEM_RESERVE | MEM_COMMIT,
                                                PAGE_EXECUTE_READWRITE);
            }
            if (!island->page)
                return NULL;
            island->module = module;
        }
        if (island->module == module)
        {
            if (island->used + SLOT_SIZE > PAGE)
                return NULL;
            island->used += SLOT_SIZE;
            return island->page + island->used - SLOT_SIZE;
        }
    }
    return NULL;
}

/* jmp [rip+0]; address: 14 bytes, without changing a register. */
static void write_far_jump(BYTE *at, const void *to)
{
    static const BYTE code[] = {0xff, 0x25, 0, 0, 0, 0};

    memcpy(at, code, sizeof(code));
    memcpy(at + sizeof(code), &to, sizeof(to));
}

static BOOL is_thunk(const BYTE *code)
{
    return (!memcmp(code, thunk_head, sizeof(thunk_head)) || !memcmp(code, thunk_head_gas, sizeof(thunk_head_gas))) &&
           !memcmp(code + 8, thunk_test, sizeof(thunk_test));
}

/* Length of a prologue instruction that means the same at another address, or 0. */
static unsigned movable(const BYTE *code)
{
    static const BYTE hot_patch[] = {0x48, 0x8d, 0xa4, 0x24, 0, 0, 0, 0}; /* lea rsp,[rsp+0] */

    if (code[0] >= 0x50 && code[0] <= 0x57)
        return 1; /* push r64 */
    if (code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57)
        return 2; /* push r8..r15 */
    if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xec)
        return 4; /* sub rsp,imm8 */
    if (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec)
        return 7; /* sub rsp,imm32 */
    if (code[0] >= 0x48 && code[0] <= 0x4f && (code[1] == 0x89 || code[1] == 0x8b) && code[2] >= 0xc0)
        return 3; /* mov r64,r64 */
    if ((code[0] == 0x89 || code[0] == 0x8b) && code[1] >= 0xc0)
        return 2; /* mov r32,r32 */
    if (code[0] == 0xb8)
        return 5; /* mov eax,imm32: the size of a large stack frame, for __chkstk */
    if (!memcmp(code, hot_patch, sizeof(hot_patch)))
        return 8;
    return 0;
}

/* Copies a working original of code to slot; returns FALSE if the form is unknown. */
static BOOL copy_original(const BYTE *code, BYTE *slot)
{
    unsigned done = 0, length;

    if (is_thunk(code))
    {
        memcpy(slot, code, THUNK_SIZE);
        return TRUE;
    }
    while (done < 5)
    {
        if (!(length = movable(code + done)))
            return FALSE;
        memcpy(slot + done, code + done, length);
        done += length;
    }
    write_far_jump(slot + done, code + done);
    return TRUE;
}

/* Overwrites the beginning of code with a jump to slot. */
static BOOL write_jump(BYTE *code, const BYTE *slot)
{
    INT32 offset = (INT32)(slot - (code + 5));
    DWORD protection;
    BYTE bytes[8];

    memcpy(bytes, code, sizeof(bytes));
    bytes[0] = 0xe9;
    memcpy(bytes + 1, &offset, sizeof(offset));
    if (!VirtualProtect(code, sizeof(bytes), PAGE_EXECUTE_READWRITE, &protection))
        return FALSE;
    __atomic_store_n((UINT64 *)code, *(UINT64 *)bytes, __ATOMIC_SEQ_CST);
    VirtualProtect(code, sizeof(bytes), protection, &protection);
    FlushInstructionCache(GetCurrentProcess(), code, sizeof(bytes));
    return TRUE;
}

BOOL patch_replace(HMODULE module, const char *name, void *hook)
{
    BYTE *code = (BYTE *)GetProcAddress(module, name), *slot;

    if (!code || ((UINT_PTR)code & 7) || !(slot = slot_near(module)))
        return FALSE;
    write_far_jump(slot, hook);
    return write_jump(code, slot);
}

BOOL patch_function(HMODULE module, const char *name, void *hook, void **original)
{
    BYTE *code = (BYTE *)GetProcAddress(module, name), *slot;
    BYTE copy[SLOT_SIZE - 16];

    if (!code || ((UINT_PTR)code & 7) || !copy_original(code, copy) || !(slot = slot_near(module)))
        return FALSE;
    write_far_jump(slot, hook);
    if (is_thunk(code))
        memcpy(slot + 16, copy, THUNK_SIZE);
    else
        copy_original(code, slot + 16);
    *original = slot + 16;
    return write_jump(code, slot);
}
