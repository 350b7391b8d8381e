/* The files of a log, and what is read of one. */
#ifndef MULLION_EVENT_FILES_H
#define MULLION_EVENT_FILES_H

#include "store.h"

enum
{
    MOST_FILE_BYTES = 64 << 20,
    LAST_NUMBER = 99999999,
    MOST_LISTED = 64 /* files of a log; whoever puts more there has the others ignored */
};

/* The numbers of a log's files, in order; numbers has room for MOST_LISTED. */
unsigned evt_list_files(const WCHAR *log, DWORD *numbers);

/* Opens a file of a log, and never what a link in its place leads to. */
HANDLE evt_open_file(const WCHAR *log, DWORD number, DWORD access, DWORD how);
BOOL evt_delete_file(const WCHAR *log, DWORD number);
BOOL evt_read_at(HANDLE file, DWORD place, void *bytes, DWORD size);

/* Reads a file of a log into an empty segment. */
BOOL evt_segment_read(struct segment *segment, const WCHAR *log, DWORD number);
void evt_segment_end(struct segment *segment);
const struct record *evt_segment_record(const struct segment *segment, DWORD number);

/* The identifier, and the place in the file, after the last record. */
UINT64 evt_segment_next(const struct segment *segment);
DWORD evt_segment_tail(const struct segment *segment);

#endif
