/* A query of XPath, parsed. */
#ifndef MULLION_EVENT_XPATH_H
#define MULLION_EVENT_XPATH_H

#include "record.h"

enum
{
    MOST_NODES = 256
};

enum field
{
    UNKNOWN_FIELD,
    ALWAYS, /* an element that every event has */
    PROVIDER,
    EVENT_ID,
    QUALIFIERS,
    VERSION,
    LEVEL,
    TASK,
    OPCODE,
    KEYWORDS,
    TIME,
    RECORD_ID,
    PROCESS,
    THREAD,
    CHANNEL,
    COMPUTER,
    USER,
    DATA,
    BINARY
};

enum kind
{
    AND,
    OR,
    NOT,
    EXISTS,
    COMPARE,
    TIMEDIFF,
    BAND
};

enum comparison
{
    EQUAL,
    UNEQUAL,
    LESS,
    LESS_OR_EQUAL,
    MORE,
    MORE_OR_EQUAL
};

struct node
{
    enum kind kind;
    short left, right;
    enum field field;
    enum comparison comparison;
    BOOL numeric; /* the literal is a number, or a text that is one */
    UINT64 number;
    unsigned text; /* its place in texts, if it is a text */
};

struct filter
{
    struct node nodes[MOST_NODES];
    unsigned count;
    short root;
    WCHAR *texts;
    unsigned used;
};

/* Returns an error of winerror.h. */
DWORD evt_filter_parse(struct filter **made, const WCHAR *text);
void evt_filter_end(struct filter *filter);

/* Whether a field has numbers. */
BOOL evt_is_number(enum field field);

/* Reads a number, decimal or 0x…; FALSE: it is none. */
BOOL evt_number_of_text(const WCHAR *text, size_t length, UINT64 *number);

/* What events have; their event, channel and time. */
struct subject
{
    const struct record *record;
    const WCHAR *channel;
    UINT64 now;
};

BOOL evt_filter_fits(const struct filter *filter, const struct subject *subject);

/* The order of two texts: exact, or without regard to the case of ASCII letters. */
int evt_order_of_texts(const WCHAR *a, const WCHAR *b, BOOL exact);

/* Whether a character can be in a name. */
BOOL evt_name_char(WCHAR c);

#endif
