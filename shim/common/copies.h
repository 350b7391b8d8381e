/*
 * Copies of objects that the HNS server sent along with an answer. They stand for a question to the server as long as the server
 * changed nothing since: it says so by a number in a file, which is mapped here (internal/network/hns/server/generation.go).
 */
#ifndef MULLION_COPIES_H
#define MULLION_COPIES_H

#include <windows.h>

/* The kinds of objects of which copies are kept; COPIES_NONE: none are. */
enum copies_kind
{
    COPIES_NONE,
    COPIES_NETWORK,
    COPIES_ENDPOINT,
    COPIES_NAMESPACE,
    COPIES_LOADBALANCER,
    COPIES_SDNROUTE,
    COPIES_KINDS
};

/* Whether copies can be kept: the server keeps its number. */
BOOL copies_kept(void);

/* Takes over an answer: a block of malloc, in which the fields from at on, left bytes long, are the number and the objects.
 * Returns FALSE, and leaves the block to the caller, if it is not kept. */
BOOL copies_take(enum copies_kind kind, unsigned char *block, const unsigned char *at, size_t left);

/* Whether there is a good copy of the object. With text it is set to the object's properties, CoTaskMem. */
BOOL copies_find(enum copies_kind kind, const GUID *id, WCHAR **text);

#endif
