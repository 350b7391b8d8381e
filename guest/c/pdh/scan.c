/* Reading texts. */
#include "scan.h"

const char *pdh_next_line(const char *line)
{
    while (*line && *line != '\n')
        line++;
    return *line ? line + 1 : line;
}

const char *pdh_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* The text after a word at the beginning of a line; NULL if the line begins otherwise. */
const char *pdh_after(const char *line, const char *word)
{
    while (*word && *line == *word)
    {
        line++;
        word++;
    }
    return *word ? NULL : line;
}

/* Reads a number of the same line, and moves on. FALSE if there is none. */
BOOL pdh_take_number(const char **at, LONGLONG *number)
{
    const char *from = pdh_skip_blanks(*at);
    BOOL minus = *from == '-';
    ULONGLONG value = 0;

    from += minus;
    if (*from < '0' || *from > '9')
        return FALSE;
    for (; *from >= '0' && *from <= '9'; from++)
        value = value * 10 + (ULONGLONG)(*from - '0');
    *number = minus ? -(LONGLONG)value : (LONGLONG)value;
    *at = from;
    return TRUE;
}
