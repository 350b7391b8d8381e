/* The program that this process runs. */
#include "program.h"

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
