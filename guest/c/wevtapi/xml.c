/*
 * Events as XML. Form: https://learn.microsoft.com/windows/win32/wes/eventschema-schema, and what Windows writes for
 * events without a manifest.
 */
#include "xml.h"

#include <stdlib.h>
#include <string.h>

enum
{
    REPLACEMENT = 0xfffd,
    DAYS_TO_1601 = 584694, /* from 0000-03-01 */
    DAYS_OF_ERA = 146097   /* 400 years */
};

static const UINT64 ticks = 10000000; /* of a second */

void evt_text_end(struct text *text)
{
    free(text->chars);
    memset(text, 0, sizeof(*text));
}

void evt_text_add_wide(struct text *text, const WCHAR *chars, size_t count)
{
    if (text->length + count + 1 > text->room)
    {
        size_t room = (text->length + count + 256) * 2;
        WCHAR *more = realloc(text->chars, room * sizeof(WCHAR));

        if (!more)
        {
            text->failed = TRUE;
            return;
        }
        text->chars = more;
        text->room = room;
    }
    memcpy(text->chars + text->length, chars, count * sizeof(WCHAR));
    text->length += count;
    text->chars[text->length] = 0;
}

void evt_text_add(struct text *text, const char *ascii)
{
    for (; *ascii; ascii++)
    {
        WCHAR c = (BYTE)*ascii;

        evt_text_add_wide(text, &c, 1);
    }
}

static void add_digits(struct text *text, UINT64 number, unsigned base, unsigned least)
{
    char digits[32];
    unsigned at = sizeof(digits) - 1;

    digits[at] = 0;
    do
    {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (at && (number || sizeof(digits) - 1 - at < least));
    evt_text_add(text, digits + at);
}

void evt_text_add_number(struct text *text, UINT64 number)
{
    add_digits(text, number, 10, 1);
}

/*
 * The characters of XML 1.0: tabs and ends of lines, and the rest without other controls, halves of pairs and two more.
 */
static unsigned xml_units(const WCHAR *c)
{
    if (c[0] >= 0xd800 && c[0] < 0xdc00)
        return c[1] >= 0xdc00 && c[1] < 0xe000 ? 2 : 0;
    if ((c[0] < ' ' && c[0] != '\t' && c[0] != '\n' && c[0] != '\r') || (c[0] >= 0xdc00 && c[0] < 0xe000) ||
        c[0] >= 0xfffe)
        return 0;
    return 1;
}

void evt_text_add_escaped(struct text *text, const WCHAR *chars)
{
    static const WCHAR replacement = REPLACEMENT;

    while (*chars)
    {
        unsigned units = xml_units(chars);

        switch (*chars)
        {
        case '<': evt_text_add(text, "&lt;"); break;
        case '>': evt_text_add(text, "&gt;"); break;
        case '&': evt_text_add(text, "&amp;"); break;
        case '\'': evt_text_add(text, "&apos;"); break;
        case '"': evt_text_add(text, "&quot;"); break;
        case '\r': evt_text_add(text, "&#13;"); break;
        default: evt_text_add_wide(text, units ? chars : &replacement, units ? units : 1);
        }
        chars += units ? units : 1;
    }
}

/* Days since 1601 as year, month and day; the years begin in March (Hinnant's algorithm). */
static void civil(UINT64 days, unsigned *year, unsigned *month, unsigned *day)
{
    UINT64 shifted = days + DAYS_TO_1601, era = shifted / DAYS_OF_ERA;
    unsigned of_era = (unsigned)(shifted % DAYS_OF_ERA);
    unsigned y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;

    *day = of_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = y + (unsigned)era * 400 + (*month <= 2);
}

static UINT64 days_of(unsigned year, unsigned month, unsigned day)
{
    unsigned y = year - (month <= 2), era = y / 400, of_era = y % 400;
    unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return (UINT64)era * DAYS_OF_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_1601;
}

void evt_text_add_time(struct text *text, UINT64 time)
{
    UINT64 second = time / ticks;
    unsigned year, month, day;

    civil(second / 86400, &year, &month, &day);
    add_digits(text, year, 10, 4);
    evt_text_add(text, "-");
    add_digits(text, month, 10, 2);
    evt_text_add(text, "-");
    add_digits(text, day, 10, 2);
    evt_text_add(text, "T");
    add_digits(text, second / 3600 % 24, 10, 2);
    evt_text_add(text, ":");
    add_digits(text, second / 60 % 60, 10, 2);
    evt_text_add(text, ":");
    add_digits(text, second % 60, 10, 2);
    evt_text_add(text, ".");
    add_digits(text, time % ticks, 10, 7);
    evt_text_add(text, "Z");
}

/* Reads count digits and the mark behind them, if mark is not 0. */
static BOOL digits_of(const WCHAR **text, unsigned count, char mark, unsigned *number)
{
    *number = 0;
    for (; count; count--, (*text)++)
    {
        if (**text < '0' || **text > '9')
            return FALSE;
        *number = *number * 10 + (unsigned)(**text - '0');
    }
    if (mark && *(*text)++ != (BYTE)mark)
        return FALSE;
    return TRUE;
}

BOOL evt_time_parse(const WCHAR *text, UINT64 *time)
{
    unsigned year, month, day, hour = 0, minute = 0, second = 0;
    UINT64 fraction = 0, unit = ticks;

    if (!digits_of(&text, 4, '-', &year) || !digits_of(&text, 2, '-', &month) || !digits_of(&text, 2, 0, &day))
        return FALSE;
    if (*text == 'T' && (text++, !digits_of(&text, 2, ':', &hour) || !digits_of(&text, 2, ':', &minute) ||
                                     !digits_of(&text, 2, 0, &second)))
        return FALSE;
    if (*text == '.')
    {
        for (text++; *text >= '0' && *text <= '9'; text++)
            fraction += (*text - '0') * (unit /= 10);
    }
    text += *text == 'Z';
    if (*text || year < 1601 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
        second > 59)
        return FALSE;
    *time = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 * ticks + second * ticks + fraction;
    return TRUE;
}

void evt_text_add_sid(struct text *text, const BYTE *sid, unsigned size)
{
    UINT64 authority = 0;

    if (size < 8 || size < 8 + 4u * sid[1])
        return;
    for (unsigned i = 2; i < 8; i++)
        authority = authority << 8 | sid[i];
    evt_text_add(text, "S-");
    evt_text_add_number(text, sid[0]);
    evt_text_add(text, "-");
    evt_text_add_number(text, authority);
    for (unsigned i = 0; i < sid[1]; i++)
    {
        DWORD part;

        memcpy(&part, sid + 8 + 4 * i, sizeof(part));
        evt_text_add(text, "-");
        evt_text_add_number(text, part);
    }
}

const char *evt_level_name(BYTE level)
{
    static const char *const names[] = {"Information", "Critical", "Error", "Warning", "Information", "Verbose"};

    return level < sizeof(names) / sizeof(names[0]) ? names[level] : NULL;
}

static void add_numbered(struct text *text, const char *before, UINT64 number, const char *after)
{
    evt_text_add(text, before);
    evt_text_add_number(text, number);
    evt_text_add(text, after);
}

static void add_escaped(struct text *text, const char *before, const WCHAR *value, const char *after)
{
    evt_text_add(text, before);
    evt_text_add_escaped(text, value);
    evt_text_add(text, after);
}

static void add_system(struct text *text, const struct record *record, const WCHAR *channel)
{
    add_escaped(text, "<System><Provider Name='", evt_record_text(record, 0), "'/>");
    add_numbered(text, "<EventID Qualifiers='", record->event >> 16, "'>");
    add_numbered(text, "", record->event & 0xffff, "</EventID><Version>0</Version>");
    add_numbered(text, "<Level>", evt_record_level(record), "</Level>");
    add_numbered(text, "<Task>", record->category, "</Task><Opcode>0</Opcode><Keywords>0x");
    add_digits(text, evt_record_keywords(record), 16, 1);
    evt_text_add(text, "</Keywords><TimeCreated SystemTime='");
    evt_text_add_time(text, record->time);
    add_numbered(text, "'/><EventRecordID>", record->id, "</EventRecordID><Correlation/>");
    add_numbered(text, "<Execution ProcessID='", record->process, "' ");
    add_numbered(text, "ThreadID='", record->thread, "'/>");
    add_escaped(text, "<Channel>", channel, "</Channel>");
    add_escaped(text, "<Computer>", evt_record_text(record, 1), "</Computer>");
    if (!record->sid_size)
    {
        evt_text_add(text, "<Security/></System>");
        return;
    }
    evt_text_add(text, "<Security UserID='");
    evt_text_add_sid(text, evt_record_sid(record), record->sid_size);
    evt_text_add(text, "'/></System>");
}

static void add_rendering(struct text *text, const struct record *record, const WCHAR *channel,
                          const struct rendering *rendering)
{
    evt_text_add(text, "<RenderingInfo Culture='en-US'>");
    if (rendering->message)
        add_escaped(text, "<Message>", rendering->message, "</Message>");
    evt_text_add(text, "<Level>");
    evt_text_add(text, evt_level_name(evt_record_level(record)));
    evt_text_add(text, "</Level><Task></Task><Opcode>Info</Opcode>");
    add_escaped(text, "<Channel>", channel,
                "</Channel><Provider></Provider><Keywords><Keyword>Classic</Keyword></Keywords></RenderingInfo>");
}

void evt_event_xml(struct text *text, const struct record *record, const WCHAR *channel,
                   const struct rendering *rendering)
{
    const BYTE *data = evt_record_data(record);

    evt_text_add(text, "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'>");
    add_system(text, record, channel);
    evt_text_add(text, "<EventData>");
    for (unsigned i = 0; i < record->strings; i++)
        add_escaped(text, "<Data>", evt_record_text(record, 2 + i), "</Data>");
    if (record->data_size)
    {
        evt_text_add(text, "<Binary>");
        for (unsigned i = 0; i < record->data_size; i++)
        {
            const char digit[3] = {"0123456789ABCDEF"[data[i] >> 4], "0123456789ABCDEF"[data[i] & 15], 0};

            evt_text_add(text, digit);
        }
        evt_text_add(text, "</Binary>");
    }
    evt_text_add(text, "</EventData>");
    if (rendering)
        add_rendering(text, record, channel, rendering);
    evt_text_add(text, "</Event>");
}

void evt_bookmark_xml(struct text *text, const WCHAR *channel, UINT64 id)
{
    evt_text_add(text, "<BookmarkList>\r\n");
    if (id)
    {
        add_escaped(text, "  <Bookmark Channel='", channel, "' RecordId='");
        add_numbered(text, "", id, "' IsCurrent='true'/>\r\n");
    }
    evt_text_add(text, "</BookmarkList>");
}

BOOL evt_same_ascii(const WCHAR *text, size_t length, const char *name)
{
    size_t i;

    for (i = 0; i < length && name[i]; i++)
    {
        if (text[i] != (BYTE)name[i])
            return FALSE;
    }
    return i == length && !name[i];
}

/*
 * The same as entity for a character by its number: &#13; or &#xD; (XML 1.0, 4.1). 0 also if it has more than 16 bits.
 */
static WCHAR numbered(const WCHAR **from)
{
    unsigned base = (*from)[2] == 'x' ? 16 : 10, value = 0;
    const WCHAR *first = *from + (base == 16 ? 3 : 2), *at;

    for (at = first; value <= 0xffff; at++)
    {
        unsigned letter = *at | 0x20u, digit = base;

        if (*at >= '0' && *at <= '9')
            digit = *at - '0';
        else if (letter >= 'a' && letter <= 'f')
            digit = letter - 'a' + 10;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    if (at == first || *at != ';' || value > 0xffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *from = at + 1;
    return (WCHAR)value;
}

/* Replaces an entity at *from by its character and moves behind it. 0: it is none that XML has without a definition. */
static WCHAR entity(const WCHAR **from)
{
    static const struct
    {
        const char *name;
        char is;
    } known[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&apos;", '\''}, {"&quot;", '"'}};

    if ((*from)[1] == '#')
        return numbered(from);
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    {
        size_t length = 0;

        while (length < strlen(known[i].name) && (*from)[length])
            length++;
        if (evt_same_ascii(*from, length, known[i].name))
        {
            *from += length;
            return (BYTE)known[i].is;
        }
    }
    return 0;
}

BOOL evt_attribute_of(const WCHAR *tag, const char *name, WCHAR *value, size_t room)
{
    size_t length = strlen(name), used = 0;
    WCHAR quote = 0;

    for (; *tag && *tag != '>'; tag++)
    {
        size_t left = 0;

        if (quote || *tag == '"' || *tag == '\'')
        {
            quote = quote ? (*tag == quote ? 0 : quote) : *tag;
            continue;
        }
        while (left < length && tag[1 + left])
            left++;
        if ((*tag != ' ' && *tag != '\t' && *tag != '\n' && *tag != '\r') || left < length ||
            !evt_same_ascii(tag + 1, length, name) || tag[1 + length] != '=')
            continue;
        tag += 2 + length;
        if ((quote = *tag++) != '"' && quote != '\'')
            return FALSE;
        while (*tag && *tag != quote && used + 1 < room)
        {
            if (!(value[used++] = *tag == '&' ? entity(&tag) : *tag++))
                return FALSE;
        }
        value[used] = 0;
        return *tag == quote;
    }
    return FALSE;
}

BOOL evt_bookmark_parse(const WCHAR *xml, WCHAR *channel, UINT64 *id)
{
    static const char tag[] = "<Bookmark ";
    WCHAR number[24];

    for (; *xml; xml++)
    {
        size_t length = 0;

        while (length < sizeof(tag) - 1 && xml[length])
            length++;
        if (!evt_same_ascii(xml, length, tag))
            continue;
        if (!evt_attribute_of(xml, "Channel", channel, MOST_NAME + 1) ||
            !evt_attribute_of(xml, "RecordId", number, 24) || !number[0])
            return FALSE;
        *id = 0;
        for (unsigned i = 0; number[i]; i++)
        {
            if (number[i] < '0' || number[i] > '9')
                return FALSE;
            *id = *id * 10 + (UINT64)(number[i] - '0');
        }
        return TRUE;
    }
    return FALSE;
}
