/* What is on its way to the other end of a connection. */
#include "core.h"

#include <string.h>

struct block *http_block_new(uint32_t size)
{
    struct block *block = http_memory_grow(NULL, sizeof(*block) + size);

    if (block)
    {
        memset(block, 0, sizeof(*block));
        block->size = size;
    }
    return block;
}

void http_block_end(struct connection *c, int result)
{
    struct block *block = c->blocks;

    c->blocks = block->next;
    if (block->op)
        http_finish(block->op, result, result ? 0 : block->told);
    http_memory_free(block);
}

void http_block_drop(struct connection *c, int result)
{
    while (c->blocks && !c->sending)
        http_block_end(c, result);
}
