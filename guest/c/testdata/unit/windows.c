/* The calls that more than one test needs. */
#include <windows.h>

#include <stdlib.h>

static int blocks;

HANDLE GetProcessHeap(void)
{
    return &blocks;
}

void *HeapAlloc(HANDLE heap, DWORD flags, SIZE_T size)
{
    (void)heap;
    (void)flags;
    blocks++;
    return calloc(1, size);
}

BOOL HeapFree(HANDLE heap, DWORD flags, void *p)
{
    (void)heap;
    (void)flags;
    blocks--;
    free(p);
    return TRUE;
}

HANDLE HeapCreate(DWORD flags, SIZE_T size, SIZE_T most)
{
    (void)flags;
    (void)size;
    (void)most;
    return GetProcessHeap();
}

BOOL HeapDestroy(HANDLE heap)
{
    (void)heap;
    return TRUE;
}

int heap_left(void)
{
    return blocks;
}

SIZE_T wide_length(const WCHAR *text)
{
    SIZE_T n = 0;

    while (text[n])
        n++;
    return n;
}

int wide_compare(const WCHAR *a, const WCHAR *b, SIZE_T most)
{
    for (; most > 0; most--, a++, b++)
        if (*a != *b || !*a)
            return (int)*a - (int)*b;
    return 0;
}
