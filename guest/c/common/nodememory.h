/*
 * The memory of a node that has a part of the machine's (`memory` in cluster.yaml), from what the kernel says of the
 * node's cgroup.
 *
 * A host and its containers have three files of the kernel at NODE_MEMORY (internal/windows/wine/memory_linux.go):
 * limit and usage are numbers of bytes, stat says what the memory is used for. Facts:
 * https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files (memory.max, memory.current, memory.stat),
 * https://docs.kernel.org/admin-guide/cgroup-v1/memory.html#stat-file (names with total_ are those of the cgroup with
 * all below it).
 */
#ifndef MULLION_NODEMEMORY_H
#define MULLION_NODEMEMORY_H

#include <windows.h>

#define NODE_MEMORY "/run/mullion-memory/"
#define NODE_MEMORY_FILE 8192 /* room for one of the files; what is asked for is at the beginning of stat */
#define NODE_MEMORY_TEXT 512  /* room for node_memory_text */

/* All in bytes. */
struct node_memory
{
    ULONGLONG total, unused;
    ULONGLONG available; /* unused, or of the kernel's caches, which it gives back when they are wanted */
    ULONGLONG anonymous, file, dirty, reclaimable, kernel;
};

/* FALSE: the texts are not those of a cgroup with a limit. */
BOOL node_memory_parse(struct node_memory *memory, const char *limit, const char *usage, const char *stat);

/* Writes it as /proc/meminfo has the machine's. */
void node_memory_text(const struct node_memory *memory, char text[NODE_MEMORY_TEXT]);

#endif
