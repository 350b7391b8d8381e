/*
 * Overlapped calls on sockets that Wine has in hand. While there is one, later calls of its direction are Wine's too,
 * so that bytes keep their order. A call has ended when its completion is taken from a port, or its OVERLAPPED is used
 * for another; a program that learns of the end in another way keeps its socket with Wine, which is slower and as
 * right.
 */
#include "heap.h"
#include "stream.h"

#define BUCKETS 1024
#define MOST 65536 /* calls that are noted at a time */

struct pending
{
    struct pending *next;
    void *io;
    struct counts *counts;
    enum direction direction;
};

static SRWLOCK lock = SRWLOCK_INIT;
static struct pending *buckets[BUCKETS];
static volatile LONG noted;

static struct pending **bucket_of(void *io)
{
    UINT_PTR address = (UINT_PTR)io >> 4;

    return &buckets[(address ^ address >> 10) % BUCKETS];
}

void pending_counts_release(struct counts *counts)
{
    if (InterlockedDecrement(&counts->references) == 0)
        heap_free(counts);
}

BOOL pending_add(struct stream *stream, enum direction direction, void *io)
{
    struct pending *pending, **bucket = bucket_of(io);

    pending_done(io);
    if (noted >= MOST || !(pending = heap_alloc(sizeof(*pending))))
        return FALSE;
    pending->io = io;
    pending->counts = stream->counts;
    pending->direction = direction;
    InterlockedIncrement(&stream->counts->references);
    InterlockedIncrement(&stream->counts->calls[direction]);
    InterlockedIncrement(&noted);
    AcquireSRWLockExclusive(&lock);
    pending->next = *bucket;
    *bucket = pending;
    ReleaseSRWLockExclusive(&lock);
    return TRUE;
}

void pending_done(void *io)
{
    struct pending **at = bucket_of(io), *found;

    if (!noted)
        return;
    AcquireSRWLockExclusive(&lock);
    while (*at && (*at)->io != io)
        at = &(*at)->next;
    if ((found = *at))
        *at = found->next;
    ReleaseSRWLockExclusive(&lock);
    if (!found)
        return;
    InterlockedDecrement(&noted);
    InterlockedDecrement(&found->counts->calls[found->direction]);
    pending_counts_release(found->counts);
    heap_free(found);
}
