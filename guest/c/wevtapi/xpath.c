/*
 * Queries. What there is: *, Event and System[…], EventData[…]; the elements and attributes of System, Data; and, or,
 * not(…); the six comparisons with a text or a number; timediff(@SystemTime) and band(Keywords, n). All else is refused
 * as a query that is none. Limits as on Windows, which has 32 expressions a query.
 *
 * Facts: https://learn.microsoft.com/windows/win32/wes/consuming-events#xpath-10-limitations and
 * /windows/win32/wes/queryschema-schema.
 */
#include "xpath.h"

#include <stdlib.h>
#include <string.h>

#include "xml.h"

enum
{
    MOST_DEPTH = 32,
    PATH_CHARS = 128
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

BOOL evt_is_number(enum field field)
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

BOOL evt_name_char(WCHAR c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
}

/* The length of the name that is next. */
static size_t name_length(struct parser *p)
{
    size_t length = 0;

    skip_space(p);
    if (*p->at >= '0' && *p->at <= '9')
        return 0;
    while (evt_name_char(p->at[length]))
        length++;
    return length;
}

/* Moves behind a word, if it is next; followed: the mark that must follow, or 0. */
static BOOL word(struct parser *p, const char *name, char followed)
{
    size_t length = name_length(p);
    const WCHAR *after = p->at + length;

    if (!length || !evt_same_ascii(p->at, length, name))
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

BOOL evt_number_of_text(const WCHAR *text, size_t length, UINT64 *number)
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
    while (evt_name_char(p->at[length]))
        length++;
    if (!evt_number_of_text(p->at, length, value))
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
    case '!':
        if (p->at[1] != '=')
            return refuse(p, ERROR_EVT_INVALID_QUERY), FALSE;
        *found = UNEQUAL;
        break;
    case '<': *found = p->at[1] == '=' ? LESS_OR_EQUAL : LESS; break;
    case '>': *found = p->at[1] == '=' ? MORE_OR_EQUAL : MORE; break;
    default: return FALSE;
    }
    p->at += *found == EQUAL || *found == LESS || *found == MORE ? 1 : 2;
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
    node->numeric = evt_number_of_text(p->at, (size_t)(end - p->at), &node->number);
    if (node->field == TIME && !(node->numeric = evt_time_parse(p->filter->texts + node->text, &node->number)))
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
        if (!evt_same_ascii(p->at, length, "Event"))
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
    if (!evt_is_number(node->field) || !mark(p, ','))
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

void evt_filter_end(struct filter *filter)
{
    if (filter)
        free(filter->texts);
    free(filter);
}

DWORD evt_filter_parse(struct filter **made, const WCHAR *text)
{
    struct filter *filter = calloc(1, sizeof(*filter));
    struct parser p = {text, filter, "", 0, 0};
    size_t length = 0;

    *made = NULL;
    while (text[length])
        length++;
    if (!filter || !(filter->texts = calloc(length + 1, sizeof(WCHAR))))
    {
        evt_filter_end(filter);
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    filter->root = path(&p);
    skip_space(&p);
    if (*p.at)
        refuse(&p, ERROR_EVT_INVALID_QUERY);
    if (p.error)
        evt_filter_end(filter);
    else
        *made = filter;
    return p.error;
}
