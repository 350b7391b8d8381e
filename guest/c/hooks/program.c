/* The program that this process runs. */
#include "program.h"

#include <string.h>

#include "path.h"

/*
 * The name is read from the process's own memory, because a thread that holds the loader's lock may wait for this
 * one.
 */
BOOL program_is(const WCHAR *name)
{
    UNICODE_STRING path = RtlGetCurrentPeb()->ProcessParameters->ImagePathName;
    ULONG length = path.Length / sizeof(WCHAR), start = length;

    while (start > 0 && path.Buffer[start - 1] != '\\')
        start--;
    return length - start == wcslen(name) && path_same_name(path.Buffer + start, name, length - start);
}

BOOL program_is_go(void)
{
    static const char mark[] = "\xff Go build ID: \"";
    const BYTE *base = (const BYTE *)GetModuleHandleW(NULL); /* read from the process's own memory, too */
    const IMAGE_NT_HEADERS64 *headers =
        (const IMAGE_NT_HEADERS64 *)(const void *)(base + ((const IMAGE_DOS_HEADER *)(const void *)base)->e_lfanew);

    return headers->OptionalHeader.SizeOfCode >= sizeof(mark) &&
           !memcmp(base + headers->OptionalHeader.BaseOfCode, mark, sizeof(mark) - 1);
}
