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

#endif
