/* Reading the kernel's files about a node's memory, see nodememory.h. No system call is made here. */
#include "nodememory.h"

/* Reads a number; FALSE if there is none, as in "max". */
static BOOL number(const char *text, ULONGLONG *value)
{
    if (*text < '0' || *text > '9')
        return FALSE;
    for (*value = 0; *text >= '0' && *text <= '9'; text++)
        *value = *value * 10 + (ULONGLONG)(*text - '0');
    return TRUE;
}

/* The text after a word; NULL if it begins otherwise. */
static const char *after(const char *text, const char *word)
{
    for (; *word; word++)
        if (*text++ != *word)
            return NULL;
    return text;
}

/* The number of a line "name 123", FALSE if there is none. */
static BOOL find(const char *stat, const char *prefix, const char *name, ULONGLONG *value)
{
    for (const char *line = stat; *line; line++)
    {
        const char *at = after(line, prefix);

        if (at && (at = after(at, name)) && *at == ' ')
            return number(at + 1, value);
        while (*line && *line != '\n')
            line++;
        if (!*line)
            break;
    }
    return FALSE;
}

/* What the cgroup and all below it have, by its name in cgroup v2 or in v1; 0 where the kernel does not say. */
static ULONGLONG figure(const char *stat, const char *name2, const char *name1)
{
    ULONGLONG value = 0;

    if (!name1 || !find(stat, "total_", name1, &value))
        find(stat, "", name2, &value);
    return value;
}

static ULONGLONG less(ULONGLONG from, ULONGLONG what)
{
    return from > what ? from - what : 0;
}

BOOL node_memory_parse(struct node_memory *memory, const char *limit, const char *usage, const char *stat)
{
    ULONGLONG used, caches;

    if (!number(limit, &memory->total) || !memory->total || !number(usage, &used))
        return FALSE;
    memory->anonymous = figure(stat, "anon", "rss");
    memory->file = figure(stat, "file", "cache");
    memory->dirty = figure(stat, "file_dirty", "dirty") + figure(stat, "file_writeback", "writeback");
    memory->reclaimable = figure(stat, "slab_reclaimable", NULL); /* v1 does not say */
    memory->kernel = less(used, memory->anonymous + memory->file + memory->reclaimable);
    /* files in memory itself (tmpfs) are in neither list of files, as they have no other place */
    caches = figure(stat, "inactive_file", "inactive_file") + figure(stat, "active_file", "active_file") +
             memory->reclaimable;
    memory->unused = less(memory->total, used);
    memory->available = less(memory->total, less(used, caches));
    return TRUE;
}

static char *add_text(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    return at;
}

static char *add_line(char *at, const char *name, ULONGLONG bytes)
{
    char reversed[20];
    int n = 0;

    at = add_text(at, name);
    bytes /= 1024;
    do
        reversed[n++] = (char)('0' + bytes % 10);
    while (bytes /= 10);
    while (n)
        *at++ = reversed[--n];
    return add_text(at, " kB\n");
}

void node_memory_text(const struct node_memory *memory, char text[NODE_MEMORY_TEXT])
{
    text = add_line(text, "MemTotal: ", memory->total);
    text = add_line(text, "MemFree: ", memory->unused);
    text = add_line(text, "MemAvailable: ", memory->available);
    text = add_line(text, "Cached: ", memory->file);
    text = add_line(text, "Dirty: ", memory->dirty);
    text = add_line(text, "AnonPages: ", memory->anonymous);
    text = add_line(text, "SReclaimable: ", memory->reclaimable);
    text = add_line(text, "SUnreclaim: ", memory->kernel);
    *text = 0;
}
