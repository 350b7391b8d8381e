/* The logs of a prefix: the files in which they are, who may write, and what is found. */
#ifndef MULLION_EVENT_STORE_H
#define MULLION_EVENT_STORE_H

#include "record.h"

enum
{
    LOG_CHARS = MOST_NAME + 1,
    LOG_FILES = 8 /* of a log at most; the oldest goes when one more is begun */
};

/* A part of a log in memory. */
struct segment
{
    DWORD number; /* of the file; 0: none */
    UINT64 first; /* identifier with which the file begins */
    BYTE *bytes;
    DWORD size, *places, count; /* the whole records */
};

/* Reads one log. A reader belongs to one thread at a time. */
struct reader
{
    WCHAR log[LOG_CHARS];
    struct segment segment;
};

struct log_range
{
    UINT64 oldest, newest; /* newest is oldest - 1 if the log is empty */
    UINT64 bytes, made;    /* of all files; when the first of them was made (FILETIME) */
};

/* Called once, before the others. */
void evt_store_start(void);

/* Whether there can be a log of this name. */
BOOL evt_log_name_fits(const WCHAR *log);

/* The bytes that a log may have (the value MaxSize of its key; 20 MiB). */
DWORD evt_log_most_bytes(const WCHAR *log);

/* The path of a log's files, without number and ending, with room for LOG_PATH_CHARS. */
#define LOG_PATH_CHARS (MAX_PATH + 2 * LOG_CHARS)
void evt_log_path(const WCHAR *log, WCHAR *path);

/* Each returns an error of winerror.h. */
DWORD evt_log_append(const WCHAR *log, const struct event_parts *parts);
DWORD evt_log_clear(const WCHAR *log);
DWORD evt_log_extent(const WCHAR *log, struct log_range *range);

void evt_reader_init(struct reader *reader, const WCHAR *log);
void evt_reader_end(struct reader *reader);

/*
 * Finds the record with the smallest identifier from id on, backward the one with the largest up to id. It is valid
 * until the next call. NULL: there is none.
 */
const struct record *evt_reader_find(struct reader *reader, UINT64 id, BOOL backward);

#endif
