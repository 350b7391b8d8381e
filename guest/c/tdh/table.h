/*
 * The sessions of a prefix, in memory that its processes share: which there are, and which providers each has enabled.
 *
 * It is there as long as a process has it open, as are the sessions' rings; the objects are Wine's, so each container
 * and each host has its own. It is read and changed under a mutex, which the system takes from a process that ends.
 * Every process of the container can write there, so no number of it is an index.
 */
#ifndef MULLION_TDH_TABLE_H
#define MULLION_TDH_TABLE_H

#include <windows.h>

#include "ring.h"

enum
{
    MOST_SESSIONS = 64,    /* as on Windows */
    MOST_ENABLED = 64,     /* providers of a session */
    MOST_PER_PROVIDER = 8, /* sessions of a provider, as on Windows */
    MOST_PROCESSES = 512,  /* that are told of changes */
    NAME_CHARS = 256,
    TABLE_VERSION = 1
};

struct enabled
{
    GUID provider, source;
    ULONG property, captures;
    ULONGLONG any, all;
    BYTE level, used;
};

struct session
{
    DWORD id; /* 0: there is none; else it names the ring, and no other session has had it */
    DWORD mode, flush_timer, buffer_size, minimum_buffers, maximum_buffers, clock, flags;
    GUID guid;
    WCHAR name[NAME_CHARS];
    struct enabled enabled[MOST_ENABLED];
};

struct table
{
    DWORD version, ids;
    volatile LONG generation; /* grows with each change */
    struct session sessions[MOST_SESSIONS];
    struct
    {
        DWORD id;           /* of the process */
        volatile LONG seen; /* the generation that its providers know */
    } processes[MOST_PROCESSES];
};

/* Opens the table, or makes it; NULL with the last error. */
struct table *tdh_table_open(void);

BOOL tdh_table_lock(void);
void tdh_table_unlock(void);

/* Says that the table has changed, to all processes that listen. Call it without the lock. */
void tdh_table_changed(void);

/* Makes this process one that is told of changes: the event is set when there was one. NULL: it cannot be. */
HANDLE tdh_table_listen(void);

/* Says which generation this process knows. */
void tdh_table_seen(LONG generation);

/* Waits until all processes that listen know a generation; FALSE: the time in ms is over. */
BOOL tdh_table_wait(LONG generation, DWORD timeout);

/* The name of an object of a session: prefix and the id in hexadecimal. */
void tdh_object_name(WCHAR *name, const WCHAR *prefix, DWORD id);

/* A ring, and the event by which its reader is woken. */
struct channel
{
    DWORD id;
    struct ring *ring;
    HANDLE section, event;
};

BOOL tdh_channel_open(struct channel *channel, DWORD id);
void tdh_channel_close(struct channel *channel);

#endif
