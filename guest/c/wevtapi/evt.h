/* What the parts of the newer functions share. */
#ifndef MULLION_EVENT_EVT_H
#define MULLION_EVENT_EVT_H

#include <windows.h>
#include <winevt.h>

#include "filter.h"
#include "objects.h"
#include "store.h"
#include "xml.h"

struct event
{
    struct object object;
    struct record *record;
    WCHAR channel[LOG_CHARS];
};

struct bookmark
{
    struct object object;
    WCHAR channel[LOG_CHARS];
    UINT64 id; /* 0: of no event */
};

struct context
{
    struct object object;
    DWORD flags, count;
    int *properties; /* of the paths: one of EVT_SYSTEM_PROPERTY_ID, NO_PROPERTY, or DATA_PROPERTY and more for a string
                      */
};

enum
{
    NO_PROPERTY = -1,
    DATA_PROPERTY = 1000
};

/* A buffer that values are put into: an array of variants, and behind it what they point to. */
struct values
{
    BYTE *buffer;
    DWORD size, used, count;
};

BOOL evt_fail(DWORD error);

/* Begins an array of count variants. */
void evt_values_begin(struct values *values, void *buffer, DWORD size, DWORD count);
void evt_values_number(struct values *values, DWORD index, DWORD type, UINT64 number);
void evt_values_text(struct values *values, DWORD index, const WCHAR *text);
void evt_values_bytes(struct values *values, DWORD index, DWORD type, const void *bytes, DWORD count);

/* Says how much is used; FALSE with ERROR_INSUFFICIENT_BUFFER if that is more than there is. */
BOOL evt_values_end(const struct values *values, DWORD *used);

/* Copies a text of length characters to a buffer of size characters; used counts the zero. */
BOOL evt_text(const WCHAR *text, DWORD size, WCHAR *buffer, DWORD *used);

/*
 * The message of an event, with its insertion strings. Returns an error of winerror.h;
 * ERROR_EVT_UNRESOLVED_VALUE_INSERT comes with the text.
 */
DWORD evt_event_message(const struct record *record, struct text *message);

/* The message of an identifier in a source's files. */
DWORD evt_source_message(const WCHAR *source, DWORD id, const WCHAR *const *string, unsigned strings,
                         struct text *message);

#endif
