/* The memory that a node has, see memory.c. */
#ifndef MULLION_MEMORY_H
#define MULLION_MEMORY_H

#include "nodememory.h"

/* What the node has; FALSE: it has all of the machine's, which Wine knows. */
BOOL memory_read(struct node_memory *memory);

/* memory.c: NtAllocateVirtualMemory in containers, if they or the node are limited; FALSE: the node is not. */
BOOL memory_start(void);

/* Puts the node's memory into an answer of NtQuerySystemInformation. */
void memory_correct(ULONG class, void *information, ULONG size);

#endif
