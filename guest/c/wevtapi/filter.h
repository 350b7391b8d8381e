/* Queries: the part of XPath 1.0 that the event log has, and lists of such queries as XML. */
#ifndef MULLION_EVENT_FILTER_H
#define MULLION_EVENT_FILTER_H

#include "record.h"

struct filter;

/* What a query selects: of one log, the events that fit one of the filters and none of those that suppress. */
struct query
{
    WCHAR log[MOST_NAME + 1]; /* empty: the query names none */
    struct select
    {
        struct filter *filter;
        BOOL suppress;
    } * selects;
    unsigned count;
};

/*
 * Parses XPath, or a QueryList. NULL or an empty text selects all. Returns an error of winerror.h; end the query in any
 * case.
 */
DWORD evt_query_parse(struct query *query, const WCHAR *text);
void evt_query_end(struct query *query);

/* now is the time from which timediff counts. */
BOOL evt_query_fits(const struct query *query, const struct record *record, const WCHAR *channel, UINT64 now);

#endif
