/* The table of handles with their objects, from opening to NtClose. */
#ifndef MULLION_TABLE_H
#define MULLION_TABLE_H

#include <windows.h>

enum object_type
{
    OBJECT_LINK = 1, /* a handle that stands for a link or socket file (entry.h) */
    OBJECT_SCAN,     /* a directory handle whose listing is under way (readdir.c) */
    OBJECT_SOCKET,   /* an AF_UNIX socket (afunix.c) */
    OBJECT_DEEP,     /* a file or folder that no path leads to (deep.h) */
    OBJECT_STREAM,   /* a TCP socket (stream.h) */
    OBJECT_TOKEN     /* a token of SYSTEM (token.c) */
};

/* Embedded at the start of what is stored; counted references. */
struct object
{
    enum object_type type;
    LONG references;
    HANDLE handle;
    struct object *next;
    void (*destroy)(struct object *); /* at the last reference */
};

/* Stores object under handle, and replaces an object that was there; takes over the caller's reference. */
void table_put(HANDLE handle, struct object *object);

/* Returns a new reference to the object stored under handle if it has that type, or NULL. */
void *table_get(HANDLE handle, enum object_type type);

/* Removes the object stored under handle and returns it with its reference, or NULL. */
struct object *table_take(HANDLE handle);

/* Calls visit for every object of that type until it returns TRUE; returns that object with a new reference. */
struct object *table_find(enum object_type type, BOOL (*visit)(struct object *, const void *), const void *argument);

void table_object_hold(struct object *object);
void table_object_release(struct object *object);

#endif
