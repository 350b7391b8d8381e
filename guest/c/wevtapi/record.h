/*
 * The form of an event on disk. It is our own, not that of .evtx files.
 *
 * A log is a series of files, <log>.<number of eight digits>.mlog. Each begins with struct file_head; records follow,
 * each a multiple of eight bytes long. The identifiers of records grow by one, over the end of a file too. A record
 * holds, after struct record, texts of UTF-16 that end with a zero (source, computer, then the insertion strings), the
 * user's SID, and data. Its checksum covers all that follows the checksum: what a killed writer left does not fit, and
 * is skipped.
 */
#ifndef MULLION_EVENT_RECORD_H
#define MULLION_EVENT_RECORD_H

#include <windows.h>

enum
{
    FILE_MAGIC = 0x4647464d,   /* MLGF */
    RECORD_MAGIC = 0x524c474d, /* MGLR */
    FILE_VERSION = 1,
    RECORD_ALIGN = 8,
    MOST_RECORD = 128 << 10, /* bytes of a record */
    MOST_STRINGS = 256,      /* of an event, as on Windows */
    MOST_CHARS = 31839,      /* of a string, as on Windows */
    MOST_DATA = 61440,       /* bytes, as on Windows */
    MOST_NAME = 255          /* characters of a source, a computer or a log */
};

struct file_head
{
    DWORD magic, version;
    UINT64 first; /* identifier of the first record */
};

struct record
{
    DWORD magic, size, checksum;
    WORD type, category;
    UINT64 id, time; /* FILETIME */
    DWORD event, process, thread;
    WORD strings, sid_size;
    DWORD data_size, reserved;
    /* texts, SID, data */
};

/* What an event consists of, for the one who writes it. */
struct event_parts
{
    WORD type, category, strings;
    DWORD event, process, thread, data_size;
    UINT64 time;
    const WCHAR *source, *computer, *const *string;
    const void *sid, *data;
    WORD sid_size;
};

/* The length that parts have as a record; 0: they break a bound. */
DWORD evt_record_size(const struct event_parts *parts);

/* Writes parts to a buffer of evt_record_size bytes. */
void evt_record_write(struct record *record, DWORD size, UINT64 id, const struct event_parts *parts);

/* Whether size bytes begin with a whole record. Every text of such a record ends within it. */
BOOL evt_record_fits(const BYTE *bytes, SIZE_T size);

/* The place of the next whole record from start on, or size. */
SIZE_T evt_record_find(const BYTE *bytes, SIZE_T size, SIZE_T start);

/* Texts of a record that fits: 0 is the source, 1 the computer, from 2 on the insertion strings. NULL: no such. */
const WCHAR *evt_record_text(const struct record *record, unsigned number);
const BYTE *evt_record_sid(const struct record *record);
const BYTE *evt_record_data(const struct record *record);

BYTE evt_record_level(const struct record *record);
UINT64 evt_record_keywords(const struct record *record);

#endif
