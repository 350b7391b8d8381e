/* Events as XML, and times as it has them. */
#ifndef MULLION_EVENT_XML_H
#define MULLION_EVENT_XML_H

#include "record.h"

/* A text that grows; after a lack of memory it is whole no longer. It always ends with a zero, if chars is not NULL. */
struct text
{
    WCHAR *chars;
    size_t length, room;
    BOOL failed;
};

void evt_text_end(struct text *text);
void evt_text_add(struct text *text, const char *ascii);
void evt_text_add_number(struct text *text, UINT64 number);
void evt_text_add_wide(struct text *text, const WCHAR *chars, size_t count);

/* Adds a text for XML: marks as entities, what XML cannot hold as U+FFFD. */
void evt_text_add_escaped(struct text *text, const WCHAR *chars);

/* What a renderer knows beside the event; NULL: nothing. */
struct rendering
{
    const WCHAR *message;
};

void evt_event_xml(struct text *text, const struct record *record, const WCHAR *channel,
                   const struct rendering *rendering);
void evt_bookmark_xml(struct text *text, const WCHAR *channel, UINT64 id);

/* Reads a bookmark. FALSE: it is none. channel has room for MOST_NAME + 1. */
BOOL evt_bookmark_parse(const WCHAR *xml, WCHAR *channel, UINT64 *id);

/* The value of an attribute of the tag that begins at tag, entities replaced; FALSE: there is none. */
BOOL evt_attribute_of(const WCHAR *tag, const char *name, WCHAR *value, size_t room);

/* S-1-… of a SID. */
void evt_text_add_sid(struct text *text, const BYTE *sid, unsigned size);

/* Writes a time as 2026-01-02T03:04:05.0000000Z. */
void evt_text_add_time(struct text *text, UINT64 time);

/* Reads such a time, also with a shorter fraction, without Z, or the date alone. */
BOOL evt_time_parse(const WCHAR *text, UINT64 *time);

const char *evt_level_name(BYTE level);

/* Whether text is name, an ASCII one, for length characters. */
BOOL evt_same_ascii(const WCHAR *text, size_t length, const char *name);

#endif
