/* The handles of this library: a handle is a number with which an object is found as long as it is open. */
#ifndef MULLION_EVENT_OBJECTS_H
#define MULLION_EVENT_OBJECTS_H

#include <windows.h>

enum object_kind
{
    CLASSIC_LOG = 1,
    CLASSIC_SOURCE,
    RESULT_SET,
    EVENT,
    RENDER_CONTEXT,
    BOOKMARK,
    NAME_LIST,
    PUBLISHER,
    CHANNEL_CONFIG,
    LOG_INFO,
    SUBSCRIPTION
};

struct object
{
    enum object_kind kind;
    LONG references;
    void (*end)(struct object *object);
    CRITICAL_SECTION lock; /* guards what the object's kind adds */
};

void evt_objects_start(void);

/* Makes an object of size bytes, all zero behind the head. NULL: no memory. end may be NULL. */
void *evt_object_new(enum object_kind kind, size_t size, void (*end)(struct object *));

/* Opens a handle, which takes over the caller's reference. NULL: no memory, and the object is gone. */
HANDLE evt_object_open(void *object);

/*
 * The object of a handle, with another reference; NULL, and ERROR_INVALID_HANDLE, if it is of another kind or closed.
 */
void *evt_object_get(HANDLE handle, enum object_kind kind);
void *evt_object_any(HANDLE handle);
void evt_object_release(void *object);

/* Closes a handle; kind 0: of any kind. */
BOOL evt_object_close(HANDLE handle, enum object_kind kind);

#endif
