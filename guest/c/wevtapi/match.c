/* Whether an event fits a query of XPath. */
#include "xpath.h"

#include "xml.h"

static UINT64 number_field(const struct subject *s, enum field field)
{
    switch (field)
    {
    case EVENT_ID: return s->record->event & 0xffff;
    case QUALIFIERS: return s->record->event >> 16;
    case LEVEL: return evt_record_level(s->record);
    case TASK: return s->record->category;
    case KEYWORDS: return evt_record_keywords(s->record);
    case TIME: return s->record->time;
    case RECORD_ID: return s->record->id;
    case PROCESS: return s->record->process;
    case THREAD: return s->record->thread;
    default: return 0; /* version and opcode */
    }
}

static BOOL ordered(enum comparison comparison, int order)
{
    switch (comparison)
    {
    case EQUAL: return order == 0;
    case UNEQUAL: return order != 0;
    case LESS: return order < 0;
    case LESS_OR_EQUAL: return order <= 0;
    case MORE: return order > 0;
    default: return order >= 0;
    }
}

static int order_of(UINT64 a, UINT64 b)
{
    return a < b ? -1 : a > b;
}

static WCHAR lower(WCHAR c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

int evt_order_of_texts(const WCHAR *a, const WCHAR *b, BOOL exact)
{
    while (*a && (exact ? *a == *b : lower(*a) == lower(*b)))
        a++, b++;
    return order_of(exact ? *a : lower(*a), exact ? *b : lower(*b));
}

static BOOL compare_text(const struct filter *filter, const struct node *node, const WCHAR *value)
{
    UINT64 number;
    size_t length = 0;

    if (node->text != ~0u)
        return ordered(node->comparison, evt_order_of_texts(value, filter->texts + node->text, node->field == DATA));
    while (value[length])
        length++;
    return evt_number_of_text(value, length, &number) && ordered(node->comparison, order_of(number, node->number));
}

static BOOL compare_user(const struct filter *filter, const struct node *node, const struct record *record)
{
    struct text sid = {0};
    BOOL fits;

    evt_text_add_sid(&sid, evt_record_sid(record), record->sid_size);
    fits = sid.chars && !sid.failed && compare_text(filter, node, sid.chars);
    evt_text_end(&sid);
    return fits;
}

static BOOL compare(const struct filter *filter, const struct node *node, const struct subject *s)
{
    if (evt_is_number(node->field) || node->field == TIME)
        return node->numeric && ordered(node->comparison, order_of(number_field(s, node->field), node->number));
    switch (node->field)
    {
    case PROVIDER: return compare_text(filter, node, evt_record_text(s->record, 0));
    case COMPUTER: return compare_text(filter, node, evt_record_text(s->record, 1));
    case CHANNEL: return compare_text(filter, node, s->channel);
    case USER: return compare_user(filter, node, s->record);
    case DATA:
        for (unsigned i = 0; i < s->record->strings; i++)
        {
            if (compare_text(filter, node, evt_record_text(s->record, 2 + i)))
                return TRUE;
        }
        return FALSE;
    default: return FALSE;
    }
}

static BOOL exists(enum field field, const struct record *record)
{
    switch (field)
    {
    case UNKNOWN_FIELD: return FALSE;
    case USER: return record->sid_size > 0;
    case DATA: return record->strings > 0;
    case BINARY: return record->data_size > 0;
    default: return TRUE;
    }
}

static BOOL time_fits(const struct node *node, const struct subject *s)
{
    UINT64 since = s->now > s->record->time ? (s->now - s->record->time) / 10000 : 0;

    return ordered(node->comparison, order_of(since, node->number));
}

static BOOL fits(const struct filter *filter, short index, const struct subject *s)
{
    const struct node *node = &filter->nodes[index];

    switch (node->kind)
    {
    case AND: return fits(filter, node->left, s) && fits(filter, node->right, s);
    case OR: return fits(filter, node->left, s) || fits(filter, node->right, s);
    case NOT: return !fits(filter, node->left, s);
    case EXISTS: return exists(node->field, s->record);
    case COMPARE: return compare(filter, node, s);
    case TIMEDIFF: return time_fits(node, s);
    default: return (number_field(s, node->field) & node->number) != 0;
    }
}

BOOL evt_filter_fits(const struct filter *filter, const struct subject *subject)
{
    return fits(filter, filter->root, subject);
}
