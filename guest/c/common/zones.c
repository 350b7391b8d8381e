/*
 * The time zone of a process that begins.
 *
 * Fact (Wine 8.0, dlls/kernelbase/locale.c, init_locale; 10.0 as well): as a process begins, kernelbase asks for the
 * zone and writes its name to the registry. To answer, Wine compares Linux' zone with those of the registry until one
 * fits, and loads tzres.dll twice: for that are 550 of the 900 requests to the server with which a program begins. The
 * answer is of no use: the hooks say what the registry has (hooks/timezone.c), and undo what was written there.
 *
 * So the first question, which is that of kernelbase, is not answered; then kernelbase writes nothing. All later ones
 * are answered by NtQuerySystemInformation, as Wine's own code does, which is where the hooks are. The hooks, who come
 * after kernelbase, see to it that the program's own first one is.
 */
#include "zones.h"

#include <winternl.h>

#define ASK "RtlQueryDynamicTimeZoneInformation"
#define MAJOR_FIRST '8' /* of Wine; 10.0 is known too */

NTSTATUS NTAPI NtWriteVirtualMemory(HANDLE process, void *at, const void *data, SIZE_T size, SIZE_T *written);

/* clang-format off */
static const BYTE answer[] = {
    0xb0, 0x01,                         /* mov    $1,%al */
    0x86, 0x05, 0,    0,    0,    0,    /* xchg   %al,asked(%rip) */
    0x84, 0xc0,                         /* test   %al,%al */
    0x75, 0x06,                         /* jne    later */
    0xb8, 0xbb, 0x00, 0x00, 0xc0,       /* mov    $STATUS_NOT_SUPPORTED,%eax */
    0xc3,                               /* ret */
    0x48, 0x89, 0xca,                   /* later: mov %rcx,%rdx */
    0xb9, 0x66, 0x00, 0x00, 0x00,       /* mov    $SystemDynamicTimeZoneInformation,%ecx */
    0x41, 0xb8, 0xb0, 0x01, 0x00, 0x00, /* mov    $sizeof(RTL_DYNAMIC_TIME_ZONE_INFORMATION),%r8d */
    0x45, 0x31, 0xc9,                   /* xor    %r9d,%r9d */
    0x48, 0xb8, 0,    0,    0,    0,    0, 0, 0, 0, /* mov $NtQuerySystemInformation,%rax */
    0xff, 0xe0,                         /* jmp    *%rax */
    0,                                  /* asked */
};

static const BYTE lead[] = {
    0x48, 0xb8, 0,    0,    0,    0,    0, 0, 0, 0, /* mov $code,%rax */
    0xff, 0xe0,                         /* jmp    *%rax */
};
/* clang-format on */

enum
{
    ASKED_AT = 4,                          /* of the distance to asked */
    QUERY_AT = sizeof(answer) - 1 - 2 - 8, /* of the address */
    JUMP_TO = 2,                           /* in lead */
    ROOM_AT = 64,                          /* what is not used of the page with the answer */
};

typedef const char *(CDECL *get_version)(void);

static BOOL known_wine(HMODULE ntdll)
{
    get_version version = (void *)GetProcAddress(ntdll, "wine_get_version");
    const char *text = version ? version() : "";

    return (text[0] == MAJOR_FIRST && text[1] == '.') || (text[0] == '1' && text[1] == '0' && text[2] == '.');
}

static void put(BYTE *at, const void *value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = ((const BYTE *)value)[i];
}

_Static_assert(sizeof(answer) <= ROOM_AT && ROOM_AT + ZONES_SPARE <= 4096, "a page");

void *zones_spare(HANDLE process)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    void *ask = (void *)GetProcAddress(ntdll, ASK), *query = (void *)GetProcAddress(ntdll, "NtQuerySystemInformation");
    BYTE code[sizeof(answer)], jump[sizeof(lead)];
    LONG distance = sizeof(answer) - 1 - (ASKED_AT + 4);
    SIZE_T done;
    BYTE *at;

    if (!ask || !query || !known_wine(ntdll))
        return NULL;
    at = VirtualAllocEx(process, NULL, sizeof(code), MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE);
    if (!at)
        return NULL;
    put(code, answer, sizeof(code));
    put(code + ASKED_AT, &distance, sizeof(distance));
    put(code + QUERY_AT, &query, sizeof(query));
    put(jump, lead, sizeof(jump));
    put(jump + JUMP_TO, &at, sizeof(at));
    if (NtWriteVirtualMemory(process, at, code, sizeof(code), &done) >= 0)
        NtWriteVirtualMemory(process, ask, jump, sizeof(jump), &done);
    return at + ROOM_AT;
}

void zones_answer(void)
{
    const BYTE *ask = (const BYTE *)(void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), ASK);
    BYTE *code;

    if (!ask || ask[0] != lead[0] || ask[1] != lead[1] || ask[10] != lead[10] || ask[11] != lead[11])
        return;
    put((BYTE *)&code, ask + JUMP_TO, sizeof(code));
    code[sizeof(answer) - 1] = 1;
}
