/* Queries of the event log, XPath and lists of it as XML, which any program asks. */
#include "filter.h"

#include <stdlib.h>

#include "fuzz.h"
#include "record.h"

static const UINT64 some_time = 134117102451234567ull; /* 2026-01-01T03:04:05.1234567Z */

/* An event that queries are asked of. */
static struct record *event(void)
{
    static const BYTE sid[12] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0}, data[3] = {0, 0xab, 0xff};
    static const WCHAR *const strings[] = {L"x", L"42"};
    static const struct event_parts parts = {2,         3,        2,        0xc0000007, 8,   9,    sizeof(data),
                                             some_time, L"A & B", L"win-1", strings,    sid, data, sizeof(sid)};
    static struct record *made;
    DWORD size = evt_record_size(&parts);

    if (!made)
    {
        made = malloc(size);
        evt_record_write(made, size, 12, &parts);
    }
    return made;
}

__attribute__((constructor)) static void make_event(void)
{
    event();
}

void fuzz_one(const uint8_t *data, size_t size)
{
    WCHAR *text = fuzz_text(&data, &size, 0);
    struct query query;
    DWORD error;

    error = evt_query_parse(&query, text);
    if (!error)
    {
        BOOL fits = evt_query_fits(&query, event(), L"Application", some_time + 20000000);

        if (fits != TRUE && fits != FALSE)
            fuzz_fail("an event fits or not", fits, TRUE);
    }
    evt_query_end(&query);
    free(text);
}
