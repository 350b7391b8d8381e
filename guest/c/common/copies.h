/*
 * Copies of objects that the HNS server sent with an answer. They replace a question to the server as long as the
 * server has changed nothing: it counts its changes in a file that is mapped here
 * (internal/network/hns/server/generation.go).
 */
#ifndef MULLION_COPIES_H
#define MULLION_COPIES_H

#include <windows.h>

/* The kinds of objects of which copies are kept; COPIES_NONE: no copies. */
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

/* Whether copies can be kept, because the server counts its changes. */
BOOL copies_kept(void);

/*
 * Takes over an answer: a block from malloc that contains, from at on, left bytes of the server's number and the
 * objects. Returns FALSE if the answer is not kept; then the block stays the caller's.
 */
BOOL copies_take(enum copies_kind kind, unsigned char *block, const unsigned char *at, size_t left);

/* Whether there is a valid copy of the object. Sets text, if not NULL, to the object's properties (CoTaskMem). */
BOOL copies_find(enum copies_kind kind, const GUID *id, WCHAR **text);

#endif
