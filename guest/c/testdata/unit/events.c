/*
 * Events on disk (wevtapi/record.c), as XML (xml.c) and queries (filter.c): what is written is read, and whatever else
 * there is harms nothing.
 */
#include "check.h"

#include <stdlib.h>

#include "filter.h"
#include "xml.h"

static const UINT64 some_time = 134117102451234567ull; /* 2026-01-01T03:04:05.1234567Z */

static struct record *make(const char *const *texts, unsigned count, DWORD *size)
{
    static const BYTE sid[12] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0}, data[3] = {0, 0xab, 0xff};
    const WCHAR *string[8];
    WCHAR *source = wide("A & B"), *computer = wide("win-1");
    struct event_parts parts = {2,         3,      (WORD)count, 0xc0000007, 8,   9,    sizeof(data),
                                some_time, source, computer,    string,     sid, data, sizeof(sid)};
    struct record *record;

    for (unsigned i = 0; i < count; i++)
        string[i] = wide(texts[i]);
    *size = evt_record_size(&parts);
    record = malloc(*size);
    evt_record_write(record, *size, 12, &parts);
    for (unsigned i = 0; i < count; i++)
        free((void *)string[i]);
    free(source);
    free(computer);
    return record;
}

static void test_record(void)
{
    static const char *const texts[] = {"one", "", "three"};
    DWORD size;
    struct record *record = make(texts, 3, &size);
    BYTE *copy = malloc(3 * size);

    check_number("record", "fits", evt_record_fits((BYTE *)record, size), TRUE);
    check_wide("record", "source", evt_record_text(record, 0), "A & B");
    check_wide("record", "computer", evt_record_text(record, 1), "win-1");
    check_wide("record", "empty string", evt_record_text(record, 3), "");
    check_wide("record", "last string", evt_record_text(record, 4), "three");
    check_number("record", "one string more", evt_record_text(record, 5) == NULL, TRUE);
    check_number("record", "data", evt_record_data(record)[1], 0xab);
    check_number("record", "level", evt_record_level(record), 3);
    for (DWORD i = 0; i < size; i++)
    {
        BYTE *part = malloc(i + 1); /* of the exact length, so that reading on is found */

        memcpy(part, record, i);
        check_number("record", "a part fits", evt_record_fits(part, i), FALSE);
        free(part);
        memcpy(copy, record, size);
        copy[i] ^= 0x40;
        check_number("record", "one bit changed", evt_record_fits(copy, size), FALSE);
    }
    memset(copy, 0x5a, 3 * size);
    memcpy(copy + size, record, size);
    check_number("record", "found behind rubbish", (long long)evt_record_find(copy, 3 * size, 0), size);
    check_number("record", "none after it", (long long)evt_record_find(copy, 3 * size, size + 8), 3 * size);
    free(copy);
    free(record);
}

static void test_xml(void)
{
    static const char *const texts[] = {"<a> & \"b\"\x01", "c'"};
    DWORD size;
    struct record *record = make(texts, 2, &size);
    struct text text = {0};
    WCHAR *channel = wide("Application"), found[MOST_NAME + 1];
    UINT64 id;

    evt_event_xml(&text, record, channel, NULL);
    check_wide("xml", "event", text.chars,
               "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System>"
               "<Provider Name='A &amp; B'/><EventID Qualifiers='49152'>7</EventID><Version>0</Version><Level>3</Level>"
               "<Task>3</Task><Opcode>0</Opcode><Keywords>0x80000000000000</Keywords>"
               "<TimeCreated SystemTime='2026-01-01T03:04:05.1234567Z'/><EventRecordID>12</EventRecordID><Correlation/>"
               "<Execution ProcessID='8' ThreadID='9'/><Channel>Application</Channel><Computer>win-1</Computer>"
               "<Security UserID='S-1-5-18'/></System><EventData><Data>&lt;a&gt; &amp; &quot;b&quot;\xef\xbf\xbd</Data>"
               "<Data>c&apos;</Data><Binary>00ABFF</Binary></EventData></Event>");
    evt_text_end(&text);
    evt_bookmark_xml(&text, channel, 77);
    check_number("bookmark", "parsed", evt_bookmark_parse(text.chars, found, &id), TRUE);
    check_wide("bookmark", "channel", found, "Application");
    check_number("bookmark", "identifier", (long long)id, 77);
    evt_text_end(&text);
    evt_bookmark_xml(&text, L"a\r'", 78);
    check_number("bookmark", "of a name with a carriage return", evt_bookmark_parse(text.chars, found, &id), TRUE);
    check_wide("bookmark", "a carriage return", found, "a\r'");
    evt_text_end(&text);
    check_number("bookmark", "with characters by number",
                 evt_bookmark_parse(L"<Bookmark Channel='&#x41;&#98;&#xFFFF;' RecordId='1'/>", found, &id), TRUE);
    check_wide("bookmark", "characters by number", found, "Ab\xef\xbf\xbf");
    check_number("bookmark", "with no character",
                 evt_bookmark_parse(L"<Bookmark Channel='&#x110000;' RecordId='1'/>", found, &id), FALSE);
    free(channel);
    free(record);
}

static void test_times(void)
{
    static const struct
    {
        const char *text;
        long long time; /* -1: none */
    } cases[] = {{"1601-01-01T00:00:00Z", 0},
                 {"1601-01-01", 0},
                 {"1970-01-01T00:00:00.000Z", 116444736000000000ll},
                 {"2024-02-29T23:59:59.9999999Z", 133537247999999999ll},
                 {"2026-01-01T03:04:05.12345670000Z", 134117102451234567ll},
                 {"1600-01-01", -1},
                 {"2026-13-01", -1},
                 {"2026-01-01T24:00:00Z", -1},
                 {"2026-01-01T", -1},
                 {"yesterday", -1},
                 {"", -1}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        WCHAR *text = wide(cases[i].text);
        UINT64 time = 0;

        check_number(cases[i].text, "is a time", evt_time_parse(text, &time), cases[i].time >= 0);
        if (cases[i].time >= 0)
            check_number(cases[i].text, "time", (long long)time, cases[i].time);
        free(text);
    }
}

static void test_queries(void)
{
    static const char *const texts[] = {"x", "42"};
    static const struct
    {
        const char *text;
        int fits; /* -1: no query */
    } cases[] = {
        {"*", 1},
        {"", 1},
        {"Event", 1},
        {"*[System[Level=3]]", 1},
        {"*[System[Level=2 or (Task=3 and not(EventID=8))]]", 1},
        {"*[System[EventID='7' and EventID/@Qualifiers=0xc000]]", 1},
        {"*[System[Security[@UserID='S-1-5-18']]]", 1},
        {"*[System[Security[@UserID='S-1-5-19']]]", 0},
        {"*[EventData[Data>41]]", 1},
        {"*[EventData[Data='X']]", 0},
        {"*[EventData/Binary]", 1},
        {"*[UserData]", 0},
        {"*[System[band(Keywords, 0x80000000000000)]]", 1},
        {"*[System[TimeCreated[timediff(@SystemTime) < 1000]]]", 0},
        {"*[System[TimeCreated[@SystemTime<'2026-01-01T03:04:05.1234568Z']]]", 1},
        {"<QueryList><Query Path='Application'><Select>*[System[Level&gt;3]]</Select><Select "
         "Path='application'>*[System[Provider[@Name='a &amp;amp; "
         "b']]]</Select></Query></QueryList>",
         0},
        {"<QueryList><Query Path='Application'><Select>*</Select><Suppress>*[EventData[Data='42']]</Suppress></Query>"
         "</QueryList>",
         0},
        {"<QueryList><Query Path='A'><Select>*</Select><Select Path='B'>*</Select></Query></QueryList>", -1},
        {"<QueryList><Query Path='A'><Select>*[</Select></Query></QueryList>", -1},
        {"<QueryList><Query Path='A'><Select/></Query></QueryList>", -1},
        {"<QueryList><Query Path='A'><Select>*", -1},
        {"<QueryList", -1},
        {"<", -1},
        {"*[System[Level=99999999999999999999999]]", -1},
        {"*[System[Level!3]]", -1},
        {"*!", -1},
        {"*[System[timediff(@SystemTime, 3) < 1]]", -1},
        {"*[System[timediff(Level) < 1]]", -1},
        {"*]", -1},
        {"*[System[(((((((((((((((((((((((((((((((((Level=1", -1}};
    DWORD size;
    struct record *record = make(texts, 2, &size);
    WCHAR *channel = wide("Application");

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        WCHAR *text = wide(cases[i].text);
        struct query query;
        DWORD error = evt_query_parse(&query, text);

        check_number(cases[i].text, "is a query", !error, cases[i].fits >= 0);
        if (!error)
            check_number(cases[i].text, "fits", evt_query_fits(&query, record, channel, some_time + 20000000),
                         cases[i].fits);
        evt_query_end(&query);
        /* every part of it, and every part with a mark in another place */
        for (size_t cut = 0; text[cut]; cut++)
        {
            WCHAR kept = text[cut];

            for (const char *mark = "'[(&<"; *mark; mark++)
            {
                text[cut] = (BYTE)*mark;
                evt_query_parse(&query, text);
                evt_query_end(&query);
            }
            text[cut] = 0;
            evt_query_parse(&query, text);
            evt_query_end(&query);
            text[cut] = kept;
        }
        free(text);
    }
    free(channel);
    free(record);
}

int main(void)
{
    test_record();
    test_xml();
    test_times();
    test_queries();
    return checks_end();
}
