/* The processors that a host shows, see topology.c. */
#ifndef MULLION_TOPOLOGY_H
#define MULLION_TOPOLOGY_H

#include <windows.h>

struct topology
{
    unsigned sockets, cores, threads; /* a socket's cores, a core's threads; a socket is a NUMA node */
};

/* What the host shows instead of the machine's processors; FALSE: it shows those. */
BOOL topology_read(struct topology *shown);

/*
 * Answers NtQuerySystemInformation's class of logical processors where the host shows other processors than the
 * machine's, or where Wine's answer, its status, is that it knows none. FALSE: the answer stays.
 */
BOOL topology_list(ULONG class, NTSTATUS wines, void *information, ULONG size, ULONG *returned, NTSTATUS *status);

#endif
