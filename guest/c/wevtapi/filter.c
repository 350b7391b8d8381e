/*
 * Queries: one of XPath (xpath.c), or a list of them as XML:
 * https://learn.microsoft.com/windows/win32/wes/queryschema-schema.
 */
#include "filter.h"

#include <stdlib.h>
#include <string.h>

#include "xml.h"
#include "xpath.h"

enum
{
    MOST_SELECTS = 64
};

/* Whether a tag of this name begins here. */
static BOOL is_tag(const WCHAR *xml, const char *name)
{
    size_t length = strlen(name), there = 0;

    while (there < length && xml[there])
        there++;
    return there == length && evt_same_ascii(xml, length, name) && !evt_name_char(xml[length]);
}

/* Makes a plain text of the content of an element, up to its end tag, and moves there. The caller frees it. */
static WCHAR *content_of(const WCHAR **xml)
{
    const WCHAR *start = *xml;
    struct text text = {0};
    WCHAR *value;
    size_t length = 0;

    while (start[length] && start[length] != '<')
        length++;
    *xml = start + length;
    evt_text_add(&text, " x='");
    for (size_t i = 0; i < length; i++)
    {
        if (start[i] == '\'') /* which is the quote of the attribute that this becomes */
            evt_text_add(&text, "&apos;");
        else
            evt_text_add_wide(&text, start + i, 1);
    }
    evt_text_add(&text, "'");
    if ((value = calloc(length + 1, sizeof(WCHAR))) &&
        (text.failed || !evt_attribute_of(text.chars, "x", value, length + 1)))
    {
        free(value);
        value = NULL;
    }
    evt_text_end(&text);
    return value;
}

static DWORD add_select(struct query *query, const WCHAR *xpath, BOOL suppress)
{
    struct select *more = realloc(query->selects, (query->count + 1) * sizeof(*more));
    DWORD error;

    if (!more)
        return ERROR_NOT_ENOUGH_MEMORY;
    query->selects = more;
    if (query->count >= MOST_SELECTS)
        return ERROR_EVT_FILTER_TOO_COMPLEX;
    if ((error = evt_filter_parse(&more[query->count].filter, xpath)))
        return error;
    more[query->count++].suppress = suppress;
    return ERROR_SUCCESS;
}

/* The log of a Select, or else of its Query. Several logs in one query are not supported. */
static DWORD same_log(struct query *query, const WCHAR *tag, const WCHAR *around)
{
    WCHAR log[MOST_NAME + 1];

    if (!evt_attribute_of(tag, "Path", log, MOST_NAME + 1))
        memcpy(log, around, sizeof(log));
    if (!log[0])
        return ERROR_EVT_INVALID_QUERY;
    if (!query->log[0])
        memcpy(query->log, log, sizeof(log));
    return evt_order_of_texts(query->log, log, FALSE) ? ERROR_NOT_SUPPORTED : ERROR_SUCCESS;
}

static DWORD list_element(struct query *query, const WCHAR **xml, const WCHAR *around, BOOL suppress)
{
    DWORD error = same_log(query, *xml, around);
    WCHAR *xpath;

    while (**xml && **xml != '>')
        (*xml)++;
    if (error || !**xml || (*xml)[-1] == '/')
        return error ? error : ERROR_EVT_INVALID_QUERY;
    (*xml)++;
    if (!(xpath = content_of(xml)))
        return ERROR_EVT_INVALID_QUERY;
    error = is_tag(*xml, suppress ? "</Suppress" : "</Select") ? add_select(query, xpath, suppress)
                                                               : ERROR_EVT_INVALID_QUERY;
    free(xpath);
    return error;
}

static DWORD list_parse(struct query *query, const WCHAR *xml)
{
    WCHAR around[MOST_NAME + 1] = L"";
    BOOL ended = FALSE;
    DWORD error = ERROR_SUCCESS;

    while (*xml && !error && !ended)
    {
        if (*xml != '<')
        {
            xml++;
            continue;
        }
        if (is_tag(xml, "<Query") && !evt_attribute_of(xml, "Path", around, MOST_NAME + 1))
            around[0] = 0;
        else if (is_tag(xml, "<Select"))
            error = list_element(query, &xml, around, FALSE);
        else if (is_tag(xml, "<Suppress"))
            error = list_element(query, &xml, around, TRUE);
        else if (is_tag(xml, "</QueryList"))
            ended = TRUE;
        else if (!is_tag(xml, "<Query") && !is_tag(xml, "</Query") && !is_tag(xml, "<QueryList"))
            error = ERROR_EVT_INVALID_QUERY;
        if (!error)
            xml++; /* behind the < */
    }
    return error ? error : ended && query->count ? ERROR_SUCCESS : ERROR_EVT_INVALID_QUERY;
}

DWORD evt_query_parse(struct query *query, const WCHAR *text)
{
    memset(query, 0, sizeof(*query));
    while (text && (*text == ' ' || *text == '\r' || *text == '\n' || *text == '\t'))
        text++;
    if (!text || !*text)
        return add_select(query, L"*", FALSE);
    return *text == '<' ? list_parse(query, text) : add_select(query, text, FALSE);
}

void evt_query_end(struct query *query)
{
    for (unsigned i = 0; i < query->count; i++)
        evt_filter_end(query->selects[i].filter);
    free(query->selects);
    memset(query, 0, sizeof(*query));
}

BOOL evt_query_fits(const struct query *query, const struct record *record, const WCHAR *channel, UINT64 now)
{
    const struct subject subject = {record, channel, now};
    BOOL selected = FALSE;

    for (unsigned i = 0; i < query->count; i++)
    {
        if (!evt_filter_fits(query->selects[i].filter, &subject))
            continue;
        if (query->selects[i].suppress)
            return FALSE;
        selected = TRUE;
    }
    return selected;
}
