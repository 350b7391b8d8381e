/* Tests of the rings of ETW sessions (tdh/ring.c) and of the events in them (tdh/event.c). */
#include "ring.h"

#include <stdlib.h>

#include "check.h"
#include "event.h"

static BYTE record[MOST_RECORD];

static BOOL put(struct ring *ring, const void *bytes, DWORD size, BOOL *wake)
{
    struct piece pieces[] = {{bytes, size / 3}, {(const BYTE *)bytes + size / 3, size - size / 3}};

    return tdh_ring_write(ring, pieces, 2, wake);
}

/* Records of many sizes, over the end of the memory several times. */
static void test_order(struct ring *ring)
{
    static BYTE bytes[MOST_RECORD];
    DWORD size = 0;
    BOOL wake;

    for (unsigned i = 0; i < 500; i++)
    {
        DWORD want = i * 7919u % MOST_RECORD;

        memset(bytes, (int)i, sizeof(bytes));
        check_number("order", "written", put(ring, bytes, want, &wake), TRUE);
        check_number("order", "answer", tdh_ring_read(ring, record, &size), RING_RECORD);
        check_number("order", "size", size, want);
        check_number("order", "bytes", want ? memcmp(record, bytes, want) : 0, 0);
    }
    check_number("order", "then", tdh_ring_read(ring, record, &size), RING_EMPTY);
    check_number("order", "lost", ring->lost, 0);
}

static void test_full(struct ring *ring)
{
    static const BYTE bytes[MOST_RECORD + 1];
    DWORD size, before = (DWORD)ring->lost, kept = 0;
    BOOL wake;

    check_number("full", "too long", put(ring, bytes, MOST_RECORD + 1, &wake), FALSE);
    while (put(ring, bytes, 1000, &wake))
        kept++;
    check_number("full", "lost", ring->lost - before, 2);
    check_number("full", "kept", kept, RING_BYTES / 1024);
    check_number("full", "one is read", tdh_ring_read(ring, record, &size), RING_RECORD);
    check_number("full", "and one written", put(ring, bytes, 1000, &wake), TRUE);
    while (tdh_ring_read(ring, record, &size) == RING_RECORD)
        kept--;
    check_number("full", "all are read", kept, 0);
}

static void test_wake(struct ring *ring)
{
    BOOL wake;
    DWORD size;

    put(ring, "a", 1, &wake);
    check_number("wake", "nobody waits", wake, FALSE);
    ring->waiting = 1;
    put(ring, "a", 1, &wake);
    check_number("wake", "somebody waits", wake, TRUE);
    put(ring, "a", 1, &wake);
    check_number("wake", "it is woken", wake, FALSE);
    while (tdh_ring_read(ring, record, &size) == RING_RECORD)
        ;
}

/* A writer took a place and was killed. */
static void test_unfinished(struct ring *ring)
{
    UINT64 before = ring->lost;
    DWORD size = 0;
    BOOL wake;

    __atomic_add_fetch(&ring->head, 5 * RING_UNIT, __ATOMIC_SEQ_CST);
    put(ring, "behind", 6, &wake);
    check_number("unfinished", "answer", tdh_ring_read(ring, record, &size), RING_UNFINISHED);
    tdh_ring_skip(ring);
    check_number("unfinished", "then", tdh_ring_read(ring, record, &size), RING_RECORD);
    check_number("unfinished", "size", size, 6);
    check_number("unfinished", "lost", ring->lost - before, 1);
    __atomic_add_fetch(&ring->head, RING_UNIT, __ATOMIC_SEQ_CST);
    tdh_ring_skip(ring);
    check_number("unfinished", "nothing behind", tdh_ring_read(ring, record, &size), RING_EMPTY);
}

/* Another process writes whatever it likes. The sanitizers see what is read or written beside the memory. */
static void test_hostile(struct ring *ring)
{
    struct event_view view;
    DWORD size;
    BOOL wake;

    srand(1);
    for (unsigned i = 0; i < 20000; i++)
    {
        DWORD at = (DWORD)rand() % RING_BYTES;

        ((BYTE *)ring)[rand() % 64] = (BYTE)rand();
        ring->bytes[at] = (BYTE)rand();
        put(ring, "written", 7, &wake);
        if (rand() % 4 == 0) /* a record that says that it is whole, of any size */
        {
            UINT64 tail = ring->tail & ~(UINT64)(RING_UNIT - 1);
            DWORD place = (UINT64)tail % RING_BYTES;

            *(UINT64 *)(void *)(ring->bytes + place) = tail + 1;
            *(DWORD *)(void *)(ring->bytes + place + 8) = (DWORD)rand() % (2 * MOST_RECORD);
        }
        switch (tdh_ring_read(ring, record, &size))
        {
        case RING_RECORD: tdh_event_view(&view, record, size); break;
        case RING_UNFINISHED: tdh_ring_skip(ring); break;
        case RING_EMPTY: break;
        }
    }
}

static DWORD make_event(BYTE *to, WORD items, WORD item_size, WORD user)
{
    struct event_head head = {.extended = items, .user_size = user};
    DWORD room = (item_size + 7u) & ~7u;
    BYTE *p = to + sizeof(head);

    head.extended_size = (WORD)(items * (sizeof(struct extended_head) + room));
    memcpy(to, &head, sizeof(head));
    for (WORD i = 0; i < items; i++, p += sizeof(struct extended_head) + room)
    {
        struct extended_head item = {(WORD)(10 + i), item_size, 0};

        memcpy(p, &item, sizeof(item));
        memset(p + sizeof(item), i, room);
    }
    memset(p, 'u', user);
    return (DWORD)(p - to) + user;
}

static void test_event(void)
{
    BYTE bytes[1024], *copy;
    struct event_view view;
    DWORD size = make_event(bytes, 2, 13, 9);

    check_number("event", "is one", tdh_event_view(&view, bytes, size), TRUE);
    check_number("event", "items", view.record.ExtendedDataCount, 2);
    check_number("event", "second item", view.items[1].ExtType, 11);
    check_number("event", "its size", view.items[1].DataSize, 13);
    check_number("event", "its bytes", *(BYTE *)(uintptr_t)view.items[1].DataPtr, 1);
    check_number("event", "linked", view.items[0].Linkage + 2 * view.items[1].Linkage, 1);
    check_number("event", "user data", view.record.UserDataLength, 9);
    check_number("event", "their bytes", *(BYTE *)view.record.UserData, 'u');
    check_number("event", "too many items", tdh_event_view(&view, bytes, make_event(bytes, MOST_EXTENDED + 1, 8, 0)),
                 FALSE);
    for (DWORD cut = 0; cut < size; cut++) /* each in memory of its size */
    {
        make_event(bytes, 2, 13, 9);
        copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        check_number("event", "cut", tdh_event_view(&view, copy, cut), FALSE);
        free(copy);
    }
    srand(2);
    for (unsigned i = 0; i < 20000; i++)
    {
        size = make_event(bytes, (WORD)(rand() % 4), (WORD)(rand() % 40), (WORD)(rand() % 40));
        bytes[sizeof(EVENT_HEADER) + (DWORD)rand() % (size - sizeof(EVENT_HEADER))] = (BYTE)rand();
        copy = malloc(size);
        memcpy(copy, bytes, size);
        if (tdh_event_view(&view, copy, size))
        {
            const BYTE *end = copy + size;
            BOOL within = (BYTE *)view.record.UserData + view.record.UserDataLength <= end;

            for (WORD n = 0; n < view.record.ExtendedDataCount; n++)
                within = within && (BYTE *)(uintptr_t)view.items[n].DataPtr + view.items[n].DataSize <= end;
            check_number("event", "all of it is within", within, TRUE);
        }
        free(copy);
    }
}

int main(void)
{
    struct ring *ring = calloc(1, sizeof(*ring));

    test_order(ring);
    test_full(ring);
    test_wake(ring);
    test_unfinished(ring);
    test_hostile(ring);
    free(ring);
    test_event();
    return checks_end();
}
