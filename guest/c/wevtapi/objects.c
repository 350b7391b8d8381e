/* The handles of this library. */
#include "objects.h"

#include <stdlib.h>

enum
{
    MOST_OPEN = 1 << 18
};

static struct slot
{
    struct object *object;
    DWORD use; /* grows with each use of the slot, so that a closed handle finds nothing */
} * slots;

static CRITICAL_SECTION table;
static DWORD slot_count, next_free;

void evt_objects_start(void)
{
    InitializeCriticalSection(&table);
}

void *evt_object_new(enum object_kind kind, size_t size, void (*end)(struct object *))
{
    struct object *object = calloc(1, size);

    if (!object)
    {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    object->kind = kind;
    object->references = 1;
    object->end = end;
    InitializeCriticalSection(&object->lock);
    return object;
}

void evt_object_release(void *p)
{
    struct object *object = p;

    if (!object || InterlockedDecrement(&object->references))
        return;
    if (object->end)
        object->end(object);
    DeleteCriticalSection(&object->lock);
    free(object);
}

/* A free slot, or slot_count. */
static DWORD free_slot(void)
{
    struct slot *more;

    for (DWORD i = 0; i < slot_count; i++)
    {
        DWORD at = (next_free + i) % slot_count;

        if (!slots[at].object)
            return at;
    }
    if (slot_count >= MOST_OPEN || !(more = realloc(slots, (slot_count * 2 + 64) * sizeof(*slots))))
        return slot_count;
    slots = more;
    for (DWORD i = slot_count; i < slot_count * 2 + 64; i++)
        slots[i] = (struct slot){NULL, 0};
    next_free = slot_count;
    slot_count = slot_count * 2 + 64;
    return next_free;
}

HANDLE evt_object_open(void *object)
{
    HANDLE handle = NULL;
    DWORD at;

    EnterCriticalSection(&table);
    if ((at = free_slot()) < slot_count)
    {
        slots[at].object = object;
        slots[at].use = (slots[at].use + 1) & 0x7ff;
        next_free = at + 1;
        handle = (HANDLE)(ULONG_PTR)(((slots[at].use << 18 | at) + 1) << 2);
    }
    LeaveCriticalSection(&table);
    if (!handle)
    {
        evt_object_release(object);
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    }
    return handle;
}

/* The slot of a handle, or NULL. The caller holds the table. */
static struct slot *slot_of(HANDLE handle, enum object_kind kind)
{
    ULONG_PTR number = ((ULONG_PTR)handle >> 2) - 1;
    struct slot *slot;

    if ((ULONG_PTR)handle & 3 || !handle || (number & (MOST_OPEN - 1)) >= slot_count)
        return NULL;
    slot = &slots[number & (MOST_OPEN - 1)];
    if (!slot->object || slot->use != number >> 18 || (kind && slot->object->kind != kind))
        return NULL;
    return slot;
}

void *evt_object_get(HANDLE handle, enum object_kind kind)
{
    struct object *object = NULL;
    struct slot *slot;

    EnterCriticalSection(&table);
    if ((slot = slot_of(handle, kind)))
    {
        object = slot->object;
        InterlockedIncrement(&object->references);
    }
    LeaveCriticalSection(&table);
    if (!object)
        SetLastError(ERROR_INVALID_HANDLE);
    return object;
}

void *evt_object_any(HANDLE handle)
{
    return evt_object_get(handle, 0);
}

BOOL evt_object_close(HANDLE handle, enum object_kind kind)
{
    struct object *object = NULL;
    struct slot *slot;

    EnterCriticalSection(&table);
    if ((slot = slot_of(handle, kind)))
    {
        object = slot->object;
        slot->object = NULL;
    }
    LeaveCriticalSection(&table);
    if (!object)
    {
        SetLastError(ERROR_INVALID_HANDLE);
        return FALSE;
    }
    evt_object_release(object);
    return TRUE;
}
