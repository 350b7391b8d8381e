/*
 * Events: a file of them that another has written, and an event of whatever texts and bytes as XML. Bookmarks and times
 * of any text.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "record.h"
#include "xml.h"

enum
{
    MOST_PARTS = 6,
    MOST_SID = 15 /* sub-authorities */
};

/* The records of a file, wherever they are. */
static void read_file(const uint8_t *data, size_t size)
{
    for (SIZE_T at = 0; (at = evt_record_find(data, size, at)) < size; at += RECORD_ALIGN)
    {
        struct text text = {0};

        evt_event_xml(&text, (const struct record *)(data + at), L"Application", NULL);
        evt_text_end(&text);
    }
}

static void check_bookmark(const WCHAR *text)
{
    WCHAR channel[MOST_NAME + 1], again[MOST_NAME + 1];
    struct text xml = {0};
    UINT64 id, time, same;

    evt_time_parse(text, &time);
    if (!evt_bookmark_parse(text, channel, &id) || !id)
        return; /* it is none, or one of no event */
    evt_bookmark_xml(&xml, channel, id);
    if (!evt_bookmark_parse(xml.chars, again, &same) || same != id)
        fuzz_fail("a bookmark that was written is read", 0, 1);
    evt_text_end(&xml);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    uint8_t kind = fuzz_byte(&data, &size), count = fuzz_byte(&data, &size) % (MOST_PARTS + 1), *sid;
    WCHAR *texts[MOST_PARTS + 2];
    struct event_parts parts = {.type = kind, .event = kind, .strings = count, .time = kind * 0x0123456789abcdull};
    struct text xml = {0};
    struct record *record;
    DWORD length;

    if (kind == 0xff)
    {
        read_file(data, size);
        return;
    }
    for (unsigned i = 0; i < count + 2u; i++)
        texts[i] = fuzz_text(&data, &size, '\n');
    check_bookmark(texts[0]);
    parts.source = texts[0];
    parts.computer = texts[1];
    parts.string = (const WCHAR *const *)texts + 2;
    sid = fuzz_copy(data, size < 8 + 4 * MOST_SID ? size : 8 + 4 * MOST_SID);
    parts.sid = sid;
    parts.sid_size = (WORD)(size < 8 + 4 * MOST_SID ? size : 8 + 4 * MOST_SID);
    parts.data = data;
    parts.data_size = (DWORD)size;
    length = evt_record_size(&parts);
    if (length)
    {
        record = malloc(length);
        evt_record_write(record, length, 12, &parts);
        if (!evt_record_fits((const BYTE *)record, length))
            fuzz_fail("a record that was written fits", 0, 1);
        evt_event_xml(&xml, record, texts[0], NULL);
        evt_text_end(&xml);
        free(record);
    }
    free(sid);
    for (unsigned i = 0; i < count + 2u; i++)
        free(texts[i]);
}
