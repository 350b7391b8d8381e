/* Memory of the driver. */
#ifndef MULLION_HTTP_MEMORY_H
#define MULLION_HTTP_MEMORY_H

#include <stddef.h>

/* Memory that is clear; NULL: there is none. */
void *http_memory_new(size_t size);
/* Grows a block, NULL for a new one; what is new in it is undefined. NULL: there is no more, and the block stays. */
void *http_memory_grow(void *block, size_t size);
void http_memory_free(void *block);

#endif
