/*
 * Queries. What there is: *, Event and System[…], EventData[…]; the elements and attributes of System, Data; and, or, not(…); the six comparisons with a text or a
 * number; timediff(@SystemTime) and band(Keywords, n). All else is refused as a query that is none. Limits as on Windows, which has 32 expressions a query.
 *
 * Facts: https://learn.microsoft.com/windows/win32/wes/consuming-events#xpath-10-limitations and /windows/win32/wes/queryschema-schema.
 */
#include "filter.h"

#include <stdlib.h>
#include <string.h>

#include "xml.h"

enum
{
    MOST_NODES = 256,
    MOST_DEPTH = 32,
    MOST_SELECTS = 64,
    PATH_CHARS = 128
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

struct parser
{
    const WCHAR *at;
    struct filter *filter;
    char path[PATH_CHARS]; /* of the elements around */
    unsigned depth;
    DWORD error;
};

static enum field field_of(const char *path)
{
    static const struct
    {
        const char *path;
        enum field field;
    } known[] = {{"", ALWAYS},
                 {"/System", ALWAYS},
                 {"/System/Provider", ALWAYS},
                 {"/System/TimeCreated", ALWAYS},
                 {"/System/Execution", ALWAYS},
                 {"/System/Security", ALWAYS},
                 {"/System/Correlation", ALWAYS},
                 {"/EventData", ALWAYS},
                 {"/System/Provider/@Name", PROVIDER},
                 {"/System/EventID", EVENT_ID},
                 {"/System/EventID/@Qualifiers", QUALIFIERS},
                 {"/System/Version", VERSION},
                 {"/System/Level", LEVEL},
                 {"/System/Task", TASK},
                 {"/System/Opcode", OPCODE},
                 {"/System/Keywords", KEYWORDS},
                 {"/System/TimeCreated/@SystemTime", TIME},
                 {"/System/EventRecordID", RECORD_ID},
                 {"/System/Execution/@ProcessID", PROCESS},
                 {"/System/Execution/@ThreadID", THREAD},
                 {"/System/Channel", CHANNEL},
                 {"/System/Computer", COMPUTER},
                 {"/System/Security/@UserID", USER},
                 {"/EventData/Data", DATA},
                 {"/EventData/Binary", BINARY}};

    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    {
        if (!strcmp(known[i].path, path))
            return known[i].field;
    }
    return UNKNOWN_FIELD;
}

static BOOL is_number(enum field field)
{
    return (field >= EVENT_ID && field <= KEYWORDS) || (field >= RECORD_ID && field <= THREAD);
}

static short refuse(struct parser *p, DWORD error)
{
    if (!p->error)
        p->error = error;
    return -1;
}

static short add_node(struct parser *p, enum kind kind, short left, short right)
{
    if (p->error)
        return -1;
    if (p->filter->count >= MOST_NODES)
        return refuse(p, ERROR_EVT_FILTER_TOO_COMPLEX);
    p->filter->nodes[p->filter->count] = (struct node){.kind = kind, .left = left, .right = right};
    return (short)p->filter->count++;
}

static short both(struct parser *p, short left, short right)
{
    return left < 0 ? right : right < 0 ? left : add_node(p, AND, left, right);
}

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || *p->at == '\n')
        p->at++;
}

/* Moves behind a mark, if it is next. */
static BOOL mark(struct parser *p, char c)
{
    skip_space(p);
    if (*p->at != (BYTE)c)
        return FALSE;
    p->at++;
    return TRUE;
}

static BOOL name_char(WCHAR c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* The length of the name that is next. */
static size_t name_length(struct parser *p)
{
    size_t length = 0;

    skip_space(p);
    if (*p->at >= '0' && *p->at <= '9')
        return 0;
    while (name_char(p->at[length]))
        length++;
    return length;
}

/* Moves behind a word, if it is next; followed: the mark that must follow, or 0. */
static BOOL word(struct parser *p, const char *name, char followed)
{
    size_t length = name_length(p);
    const WCHAR *after = p->at + length;

    if (!length || !same_ascii(p->at, length, name))
        return FALSE;
    while (followed && *after == ' ')
        after++;
    if (followed && *after++ != (BYTE)followed)
        return FALSE;
    p->at = after;
    return TRUE;
}

static unsigned digit_of(WCHAR c)
{
    if (c >= '0' && c <= '9')
        return c - '0' + 0u;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10u;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10u : 99;
}

static BOOL number_of_text(const WCHAR *text, size_t length, UINT64 *number)
{
    unsigned base = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    size_t i = base == 16 ? 2 : 0;

    *number = 0;
    for (; i < length; i++)
    {
        unsigned digit = digit_of(text[i]);

        if (digit >= base || *number > (~(UINT64)0 - digit) / base)
            return FALSE;
        *number = *number * base + digit;
    }
    return length > 0;
}

static BOOL number(struct parser *p, UINT64 *value)
{
    size_t length = 0;

    skip_space(p);
    while (name_char(p->at[length]))
        length++;
    if (!number_of_text(p->at, length, value))
        return refuse(p, ERROR_EVT_INVALID_QUERY), FALSE;
    p->at += length;
    return TRUE;
}

static BOOL comparison(struct parser *p, enum comparison *found)
{
    skip_space(p);
    switch (*p->at)
    {
    case '=': *found = EQUAL; break;
    case '!': *found = UNEQUAL; break;
    case '<': *found = p->at[1] == '=' ? LESS_OR_EQUAL : LESS; break;
    case '>': *found = p->at[1] == '=' ? MORE_OR_EQUAL : MORE; break;
    default: return FALSE;
    }
    p->at += *found == EQUAL || *found == LESS || *found == MORE ? 1 : 2;
    if (*found == UNEQUAL && p->at[-1] != '=')
        refuse(p, ERROR_EVT_INVALID_QUERY);
    return TRUE;
}

/* A literal in quotes becomes the node's text. */
static void quoted(struct parser *p, struct node *node)
{
    WCHAR quote = *p->at++;
    const WCHAR *end = p->at;

    while (*end && *end != quote)
        end++;
    if (!*end)
    {
        refuse(p, ERROR_EVT_INVALID_QUERY);
        return;
    }
    node->text = p->filter->used;
    memcpy(p->filter->texts + node->text, p->at, (size_t)(end - p->at) * sizeof(WCHAR));
    p->filter->used += (unsigned)(end - p->at) + 1; /* there is room: the literal and its quotes are longer */
    node->numeric = number_of_text(p->at, (size_t)(end - p->at), &node->number);
    if (node->field == TIME && !(node->numeric = time_parse(p->filter->texts + node->text, &node->number)))
        refuse(p, ERROR_EVT_INVALID_QUERY);
    p->at = end + 1;
}

static short compared(struct parser *p, enum field field)
{
    short index = add_node(p, COMPARE, -1, -1);
    struct node *node;

    if (index < 0)
        return index;
    node = &p->filter->nodes[index];
    node->field = field;
    if (!comparison(p, &node->comparison))
    {
        node->kind = EXISTS;
        return index;
    }
    skip_space(p);
    if (*p->at == '\'' || *p->at == '"')
        quoted(p, node);
    else if ((node->numeric = number(p, &node->number)))
        node->text = ~0u;
    return p->error ? -1 : index;
}

static short expression(struct parser *p);

static short in_brackets(struct parser *p, char end)
{
    short inner;

    if (++p->depth > MOST_DEPTH)
        return refuse(p, ERROR_EVT_FILTER_TOO_COMPLEX);
    inner = expression(p);
    p->depth--;
    return mark(p, end) ? inner : refuse(p, ERROR_EVT_INVALID_QUERY);
}

/* Adds the name that is next to the path. */
static BOOL step(struct parser *p, BOOL first)
{
    BOOL attribute = mark(p, '@');
    size_t length, used = strlen(p->path);

    if (first && !used && !attribute && p->depth == 0 && mark(p, '*'))
        return TRUE;
    if (!(length = name_length(p)) || used + length + 3 > PATH_CHARS)
        return refuse(p, ERROR_EVT_INVALID_QUERY), FALSE;
    if (first && !used && !attribute && p->depth == 0)
    {
        if (!same_ascii(p->at, length, "Event"))
            return refuse(p, ERROR_EVT_INVALID_QUERY), FALSE;
        p->at += length;
        return TRUE;
    }
    p->path[used++] = '/';
    if (attribute)
        p->path[used++] = '@';
    for (; length; length--)
        p->path[used++] = (char)*p->at++;
    p->path[used] = 0;
    return TRUE;
}

/* A path with its predicates, and what its end is compared with. */
static short path(struct parser *p)
{
    size_t outer = strlen(p->path);
    BOOL first = TRUE;
    short all = -1;

    do
    {
        if (!step(p, first))
            return -1;
        first = FALSE;
        while (!p->error && mark(p, '['))
            all = both(p, all, in_brackets(p, ']'));
    } while (!p->error && mark(p, '/'));
    all = both(p, compared(p, field_of(p->path)), all);
    p->path[outer] = 0;
    return p->error ? -1 : all;
}

static short timediff(struct parser *p)
{
    size_t outer = strlen(p->path);
    short index = add_node(p, TIMEDIFF, -1, -1);
    struct node *node;

    if (index < 0 || !step(p, FALSE))
        return -1;
    node = &p->filter->nodes[index];
    node->field = field_of(p->path);
    p->path[outer] = 0;
    if (node->field != TIME || !mark(p, ')') || !comparison(p, &node->comparison))
        return refuse(p, ERROR_EVT_INVALID_QUERY);
    number(p, &node->number);
    return p->error ? -1 : index;
}

static short band(struct parser *p)
{
    size_t outer = strlen(p->path);
    short index = add_node(p, BAND, -1, -1);
    struct node *node;

    if (index < 0 || !step(p, FALSE))
        return -1;
    node = &p->filter->nodes[index];
    node->field = field_of(p->path);
    p->path[outer] = 0;
    if (!is_number(node->field) || !mark(p, ','))
        return refuse(p, ERROR_EVT_INVALID_QUERY);
    number(p, &node->number);
    return mark(p, ')') && !p->error ? index : refuse(p, ERROR_EVT_INVALID_QUERY);
}

static short unary(struct parser *p)
{
    if (word(p, "not", '('))
        return add_node(p, NOT, in_brackets(p, ')'), -1);
    if (word(p, "timediff", '('))
        return timediff(p);
    if (word(p, "band", '('))
        return band(p);
    if (mark(p, '('))
        return in_brackets(p, ')');
    return path(p);
}

static short conjunction(struct parser *p)
{
    short left = unary(p);

    while (!p->error && word(p, "and", 0))
        left = add_node(p, AND, left, unary(p));
    return left;
}

static short expression(struct parser *p)
{
    short left = conjunction(p);

    while (!p->error && word(p, "or", 0))
        left = add_node(p, OR, left, conjunction(p));
    return p->error ? -1 : left;
}

static void filter_end(struct filter *filter)
{
    if (filter)
        free(filter->texts);
    free(filter);
}

static DWORD filter_parse(struct filter **made, const WCHAR *text)
{
    struct filter *filter = calloc(1, sizeof(*filter));
    struct parser p = {text, filter, "", 0, 0};
    size_t length = 0;

    *made = NULL;
    while (text[length])
        length++;
    if (!filter || !(filter->texts = calloc(length + 1, sizeof(WCHAR))))
    {
        filter_end(filter);
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    filter->root = path(&p);
    skip_space(&p);
    if (*p.at)
        refuse(&p, ERROR_EVT_INVALID_QUERY);
    if (p.error)
        filter_end(filter);
    else
        *made = filter;
    return p.error;
}

/* What events have; their event, channel and time. */
struct subject
{
    const struct record *record;
    const WCHAR *channel;
    UINT64 now;
};

static UINT64 number_field(const struct subject *s, enum field field)
{
    switch (field)
    {
    case EVENT_ID: return s->record->event & 0xffff;
    case QUALIFIERS: return s->record->event >> 16;
    case LEVEL: return record_level(s->record);
    case TASK: return s->record->category;
    case KEYWORDS: return record_keywords(s->record);
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

static int order_of_texts(const WCHAR *a, const WCHAR *b, BOOL exact)
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
        return ordered(node->comparison, order_of_texts(value, filter->texts + node->text, node->field == DATA));
    while (value[length])
        length++;
    return number_of_text(value, length, &number) && ordered(node->comparison, order_of(number, node->number));
}

static BOOL compare_user(const struct filter *filter, const struct node *node, const struct record *record)
{
    struct text sid = {0};
    BOOL fits;

    text_add_sid(&sid, record_sid(record), record->sid_size);
    fits = sid.chars && !sid.failed && compare_text(filter, node, sid.chars);
    text_end(&sid);
    return fits;
}

static BOOL compare(const struct filter *filter, const struct node *node, const struct subject *s)
{
    if (is_number(node->field) || node->field == TIME)
        return node->numeric && ordered(node->comparison, order_of(number_field(s, node->field), node->number));
    switch (node->field)
    {
    case PROVIDER: return compare_text(filter, node, record_text(s->record, 0));
    case COMPUTER: return compare_text(filter, node, record_text(s->record, 1));
    case CHANNEL: return compare_text(filter, node, s->channel);
    case USER: return compare_user(filter, node, s->record);
    case DATA:
        for (unsigned i = 0; i < s->record->strings; i++)
        {
            if (compare_text(filter, node, record_text(s->record, 2 + i)))
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

/* Whether a tag of this name begins here. */
static BOOL is_tag(const WCHAR *xml, const char *name)
{
    size_t length = strlen(name), there = 0;

    while (there < length && xml[there])
        there++;
    return there == length && same_ascii(xml, length, name) && !name_char(xml[length]);
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
    text_add(&text, " x='");
    for (size_t i = 0; i < length; i++)
    {
        if (start[i] == '\'') /* which is the quote of the attribute that this becomes */
            text_add(&text, "&apos;");
        else
            text_add_wide(&text, start + i, 1);
    }
    text_add(&text, "'");
    if ((value = calloc(length + 1, sizeof(WCHAR))) && (text.failed || !attribute_of(text.chars, "x", value, length + 1)))
    {
        free(value);
        value = NULL;
    }
    text_end(&text);
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
    if ((error = filter_parse(&more[query->count].filter, xpath)))
        return error;
    more[query->count++].suppress = suppress;
    return ERROR_SUCCESS;
}

/* The log of a Select, or else of its Query. Several logs in one query are not supported. */
static DWORD same_log(struct query *query, const WCHAR *tag, const WCHAR *around)
{
    WCHAR log[MOST_NAME + 1];

    if (!attribute_of(tag, "Path", log, MOST_NAME + 1))
        memcpy(log, around, sizeof(log));
    if (!log[0])
        return ERROR_EVT_INVALID_QUERY;
    if (!query->log[0])
        memcpy(query->log, log, sizeof(log));
    return order_of_texts(query->log, log, FALSE) ? ERROR_NOT_SUPPORTED : ERROR_SUCCESS;
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
    error = is_tag(*xml, suppress ? "</Suppress" : "</Select") ? add_select(query, xpath, suppress) : ERROR_EVT_INVALID_QUERY;
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
        if (is_tag(xml, "<Query") && !attribute_of(xml, "Path", around, MOST_NAME + 1))
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

DWORD query_parse(struct query *query, const WCHAR *text)
{
    memset(query, 0, sizeof(*query));
    while (text && (*text == ' ' || *text == '\r' || *text == '\n' || *text == '\t'))
        text++;
    if (!text || !*text)
        return add_select(query, L"*", FALSE);
    return *text == '<' ? list_parse(query, text) : add_select(query, text, FALSE);
}

void query_end(struct query *query)
{
    for (unsigned i = 0; i < query->count; i++)
        filter_end(query->selects[i].filter);
    free(query->selects);
    memset(query, 0, sizeof(*query));
}

BOOL query_fits(const struct query *query, const struct record *record, const WCHAR *channel, UINT64 now)
{
    const struct subject subject = {record, channel, now};
    BOOL selected = FALSE;

    for (unsigned i = 0; i < query->count; i++)
    {
        if (!fits(query->selects[i].filter, query->selects[i].filter->root, &subject))
            continue;
        if (query->selects[i].suppress)
            return FALSE;
        selected = TRUE;
    }
    return selected;
}
