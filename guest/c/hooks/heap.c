/* Memory of the process. */
#include "heap.h"

void *heap_alloc(SIZE_T size)
{
    return HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, size);
}

void heap_free(void *p)
{
    if (p)
        HeapFree(GetProcessHeap(), 0, p);
}
