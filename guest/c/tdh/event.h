/* The form of an event in a ring: the head, the extended data items one behind the other, and the event's own data. */
#ifndef MULLION_TDH_EVENT_H
#define MULLION_TDH_EVENT_H

#include <windows.h>

#include <evntcons.h>

enum
{
    EXTENDED_TRACELOGGING = 11, /* EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL: the event's name and fields */
    EXTENDED_TRAITS = 12,       /* EVENT_HEADER_EXT_TYPE_PROV_TRAITS: the provider's name */
    CHANNEL_TRACELOGGING = 11,
    EXTENDED_ALIGN = 8,
    MOST_EXTENDED = 8 /* items of an event */
};

struct event_head
{
    EVENT_HEADER header;
    WORD extended; /* items */
    WORD extended_size, user_size, reserved;
};

/* Before the bytes of an item, which are filled up to a multiple of EXTENDED_ALIGN. */
struct extended_head
{
    WORD type, size;
    DWORD reserved;
};

/* The part of a record that a consumer is shown; it points into the record. */
struct event_view
{
    EVENT_RECORD record;
    EVENT_HEADER_EXTENDED_DATA_ITEM items[MOST_EXTENDED];
};

/* Reads a record of size bytes. FALSE: it is none. */
BOOL tdh_event_view(struct event_view *view, BYTE *bytes, DWORD size);

#endif
