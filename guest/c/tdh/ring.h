/*
 * A ring of records in memory that processes share: many write, one reads.
 *
 * Nobody waits for anybody. Who writes takes a place by moving the head on, copies, and says last that the record is
 * whole, by its position; a record for which there is no room is dropped and counted. The reader copies a record before
 * it looks at it, and believes no number of it: another process can have written anything there. A place that was taken
 * and never finished, because its writer was killed, is passed over after a while.
 */
#ifndef MULLION_TDH_RING_H
#define MULLION_TDH_RING_H

#include <windows.h>

enum
{
    RING_BYTES = 2 << 20,
    RING_UNIT = 32,         /* records begin at multiples of it */
    MOST_RECORD = 64 << 10, /* bytes of a record without its head; that is what Windows allows an event */
    MOST_PIECES = 160       /* of a record */
};

struct ring
{
    volatile UINT64 head; /* where the next record goes: grows by its size, over the end of the memory too */
    volatile UINT64 tail; /* up to where is read */
    volatile UINT64 written, lost;
    volatile LONG waiting; /* the reader waits for its event */
    volatile LONG ended;
    LONG reserved[4];
    BYTE bytes[RING_BYTES];
};

struct piece
{
    const void *bytes;
    DWORD size;
};

enum ring_answer
{
    RING_RECORD,
    RING_EMPTY,
    RING_UNFINISHED /* the record at the tail is not whole yet */
};

/*
 * Writes a record. FALSE: there is no room, or it is too long; it is counted. wake: the reader waits and has to be
 * woken.
 */
BOOL tdh_ring_write(struct ring *ring, const struct piece *piece, unsigned pieces, BOOL *wake);

/* Takes the next record: to has room for MOST_RECORD bytes. */
enum ring_answer tdh_ring_read(struct ring *ring, BYTE *to, DWORD *size);

/* Passes over the record at the tail that nobody finishes, to the next whole one, or to where the head is. */
void tdh_ring_skip(struct ring *ring);

#endif
