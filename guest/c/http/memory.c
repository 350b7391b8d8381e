#include "memory.h"

#include <windows.h>

void *http_memory_new(size_t size)
{
    return HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, size);
}

void *http_memory_grow(void *block, size_t size)
{
    return block ? HeapReAlloc(GetProcessHeap(), 0, block, size) : HeapAlloc(GetProcessHeap(), 0, size);
}

void http_memory_free(void *block)
{
    if (block)
        HeapFree(GetProcessHeap(), 0, block);
}
