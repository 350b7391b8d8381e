/* The table of handles. */
#include "keys.h"

#include <stdlib.h>

enum
{
    BUCKETS = 64
};

static SRWLOCK lock = SRWLOCK_INIT;
static struct object *buckets[BUCKETS];

static struct object **bucket(NCRYPT_HANDLE handle)
{
    return &buckets[handle >> 4 & (BUCKETS - 1)];
}

/* The link that leads to the object of a handle; called with the lock. */
static struct object **find(NCRYPT_HANDLE handle, enum kind kind)
{
    struct object **link = bucket(handle);

    while (*link && (NCRYPT_HANDLE)*link != handle)
        link = &(*link)->next;
    return *link && (!kind || (*link)->kind == kind) ? link : NULL;
}

NCRYPT_HANDLE ncrypt_object_add(struct object *object, enum kind kind, void (*destroy)(struct object *))
{
    struct object **first = bucket((NCRYPT_HANDLE)object);

    object->kind = kind;
    object->references = 1;
    object->destroy = destroy;
    AcquireSRWLockExclusive(&lock);
    object->next = *first;
    *first = object;
    ReleaseSRWLockExclusive(&lock);
    return (NCRYPT_HANDLE)object;
}

void *ncrypt_object_get(NCRYPT_HANDLE handle, enum kind kind)
{
    struct object **link, *object = NULL;

    AcquireSRWLockShared(&lock);
    if ((link = find(handle, kind)))
    {
        object = *link;
        InterlockedIncrement(&object->references);
    }
    ReleaseSRWLockShared(&lock);
    return object;
}

void ncrypt_object_release(void *p)
{
    struct object *object = p;

    if (object && !InterlockedDecrement(&object->references))
        object->destroy(object);
}

BOOL ncrypt_object_close(NCRYPT_HANDLE handle, enum kind kind)
{
    struct object **link, *object = NULL;

    AcquireSRWLockExclusive(&lock);
    if ((link = find(handle, kind)))
    {
        object = *link;
        *link = object->next;
    }
    ReleaseSRWLockExclusive(&lock);
    ncrypt_object_release(object);
    return object != NULL;
}
