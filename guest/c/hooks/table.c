/*
 * The table of handles with their objects. A handle's value may be used again as soon as it is closed, so an object is
 * removed before the handle is closed, never after.
 */
#include "table.h"

#define BUCKETS 1024

static struct object *volatile buckets[BUCKETS];
static SRWLOCK lock = SRWLOCK_INIT;

static unsigned bucket_of(HANDLE handle)
{
    return (unsigned)((UINT_PTR)handle >> 2) % BUCKETS; /* the low two bits of a handle are the program's */
}

static HANDLE plain(HANDLE handle)
{
    return (HANDLE)((UINT_PTR)handle & ~(UINT_PTR)3);
}

void table_object_hold(struct object *object)
{
    InterlockedIncrement(&object->references);
}

void table_object_release(struct object *object)
{
    if (InterlockedDecrement(&object->references) == 0)
        object->destroy(object);
}

struct object *table_take(HANDLE handle)
{
    unsigned bucket = bucket_of(handle);
    struct object *volatile *link, *found = NULL;

    if (!buckets[bucket])
        return NULL; /* the common case, on every NtClose of the process */
    AcquireSRWLockExclusive(&lock);
    for (link = &buckets[bucket]; *link; link = &(*link)->next)
    {
        if ((*link)->handle != plain(handle))
            continue;
        found = *link;
        *link = found->next;
        break;
    }
    ReleaseSRWLockExclusive(&lock);
    return found;
}

void table_put(HANDLE handle, struct object *object)
{
    struct object *old = table_take(handle);
    unsigned bucket = bucket_of(handle);

    object->handle = plain(handle);
    AcquireSRWLockExclusive(&lock);
    object->next = buckets[bucket];
    buckets[bucket] = object;
    ReleaseSRWLockExclusive(&lock);
    if (old)
        table_object_release(old);
}

void *table_get(HANDLE handle, enum object_type type)
{
    unsigned bucket = bucket_of(handle);
    struct object *object;

    if (!buckets[bucket])
        return NULL;
    AcquireSRWLockShared(&lock);
    for (object = buckets[bucket]; object; object = object->next)
        if (object->handle == plain(handle))
            break;
    if (object && object->type == type)
        table_object_hold(object);
    else
        object = NULL;
    ReleaseSRWLockShared(&lock);
    return object;
}

struct object *table_find(enum object_type type, BOOL (*visit)(struct object *, const void *), const void *argument)
{
    struct object *object = NULL;

    AcquireSRWLockShared(&lock);
    for (unsigned i = 0; i < BUCKETS && !object; i++)
        for (object = buckets[i]; object; object = object->next)
            if (object->type == type && visit(object, argument))
                break;
    if (object)
        table_object_hold(object);
    ReleaseSRWLockShared(&lock);
    return object;
}
