/* A ring of records in memory that processes share. */
#include "ring.h"

#include <string.h>

struct record_head
{
    volatile UINT64 whole; /* position + 1 when the record is whole */
    DWORD size;            /* bytes behind the head */
    DWORD reserved;
};

#define POSITIONS (~(UINT64)(RING_UNIT - 1))

static UINT64 room_of(DWORD size)
{
    return ((UINT64)sizeof(struct record_head) + size + RING_UNIT - 1) & POSITIONS;
}

static struct record_head *head_at(struct ring *ring, UINT64 position)
{
    return (struct record_head *)(void *)(ring->bytes + position % RING_BYTES);
}

/* Copies into the ring from a position on; returns the position behind. */
static UINT64 put(struct ring *ring, UINT64 position, const void *bytes, DWORD size)
{
    DWORD at = position % RING_BYTES, first = min(size, RING_BYTES - at);

    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, (const BYTE *)bytes + first, size - first);
    return position + size;
}

BOOL tdh_ring_write(struct ring *ring, const struct piece *piece, unsigned pieces, BOOL *wake)
{
    DWORD size = 0;
    UINT64 head, at, room;
    struct record_head *record;

    *wake = FALSE;
    for (unsigned i = 0; i < pieces; i++)
    {
        if (piece[i].size > MOST_RECORD - size)
            goto lost;
        size += piece[i].size;
    }
    room = room_of(size);
    do
    {
        head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        if (head - ring->tail > RING_BYTES - room)
            goto lost;
    } while (!__atomic_compare_exchange_n(&ring->head, &head, (head & POSITIONS) + room, FALSE, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    head &= POSITIONS;
    record = head_at(ring, head);
    record->size = size;
    at = head + (UINT64)sizeof(*record);
    for (unsigned i = 0; i < pieces; i++)
        at = put(ring, at, piece[i].bytes, piece[i].size);
    __atomic_store_n(&record->whole, head + 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&ring->written, 1, __ATOMIC_RELAXED);
    *wake = __atomic_load_n(&ring->waiting, __ATOMIC_SEQ_CST) &&
            __atomic_exchange_n(&ring->waiting, 0, __ATOMIC_ACQ_REL);
    return TRUE;
lost:
    __atomic_add_fetch(&ring->lost, 1, __ATOMIC_RELAXED);
    return FALSE;
}

/* Whether a whole record begins at a position, and how long it is. */
static BOOL is_whole(struct ring *ring, UINT64 position, UINT64 head, DWORD *size)
{
    struct record_head *record = head_at(ring, position);

    if (__atomic_load_n(&record->whole, __ATOMIC_ACQUIRE) != position + 1)
        return FALSE;
    *size = *(volatile DWORD *)&record->size;
    return *size <= MOST_RECORD && room_of(*size) <= head - position;
}

/* The bounds of what is to be read; a head that cannot be is made the tail. FALSE: there is nothing. */
static BOOL bounds(struct ring *ring, UINT64 *tail, UINT64 *head)
{
    *head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) & POSITIONS;
    *tail = ring->tail & POSITIONS;
    if (*head - *tail > RING_BYTES)
    {
        __atomic_store_n(&ring->tail, *head, __ATOMIC_RELEASE);
        return FALSE;
    }
    return *head != *tail;
}

enum ring_answer tdh_ring_read(struct ring *ring, BYTE *to, DWORD *size)
{
    UINT64 tail, head;
    DWORD at, first;

    if (!bounds(ring, &tail, &head))
        return RING_EMPTY;
    if (!is_whole(ring, tail, head, size))
        return RING_UNFINISHED;
    at = (tail + sizeof(struct record_head)) % RING_BYTES;
    first = min(*size, RING_BYTES - at);
    memcpy(to, ring->bytes + at, first);
    memcpy(to + first, ring->bytes, *size - first);
    __atomic_store_n(&ring->tail, tail + room_of(*size), __ATOMIC_RELEASE);
    return RING_RECORD;
}

void tdh_ring_skip(struct ring *ring)
{
    UINT64 tail, head;
    DWORD size;

    if (!bounds(ring, &tail, &head))
        return;
    do
        tail += RING_UNIT;
    while (tail != head && !is_whole(ring, tail, head, &size));
    __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
    __atomic_add_fetch(&ring->lost, 1, __ATOMIC_RELAXED);
}
