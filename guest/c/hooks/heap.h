/* Memory of the process. */
#ifndef MULLION_HEAP_H
#define MULLION_HEAP_H

#include <windows.h>

void *heap_alloc(SIZE_T size); /* zeroed; NULL: there is none */
void heap_free(void *p);       /* NULL is nothing to free */

#endif
