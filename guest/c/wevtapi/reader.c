/* Reading a log. Who reads takes no lock, and believes a record whose checksum fits. */
#include "files.h"

#include <string.h>
#include <wchar.h>

void evt_reader_init(struct reader *reader, const WCHAR *log)
{
    memset(reader, 0, sizeof(*reader));
    wcscpy(reader->log, log);
}

void evt_reader_end(struct reader *reader)
{
    evt_segment_end(&reader->segment);
}

/* The number of the first record of a segment whose identifier is id or larger. */
static DWORD segment_seek(const struct segment *segment, UINT64 id)
{
    DWORD low = 0, high = segment->count;

    while (low < high)
    {
        DWORD middle = low + (high - low) / 2;

        if (evt_segment_record(segment, middle)->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct record *find_in(const struct segment *segment, UINT64 id, BOOL backward)
{
    DWORD at = segment_seek(segment, id);

    if (!backward)
        return at < segment->count ? evt_segment_record(segment, at) : NULL;
    if (at < segment->count && evt_segment_record(segment, at)->id == id)
        return evt_segment_record(segment, at);
    return at ? evt_segment_record(segment, at - 1) : NULL;
}

/* Whether id is between the first and the last record of the segment in memory, so that no other has a nearer one. */
static BOOL covers(const struct segment *segment, UINT64 id)
{
    return segment->count && evt_segment_record(segment, 0)->id <= id && id < evt_segment_next(segment);
}

/*
 * The identifier with which a file begins; 0: it is none of ours. same: whether it is the one in memory, as it is
 * there.
 */
static UINT64 file_first(const struct reader *reader, DWORD number, BOOL *same)
{
    HANDLE file = evt_open_file(reader->log, number, GENERIC_READ, OPEN_EXISTING);
    struct file_head head = {0};
    LARGE_INTEGER size;
    BOOL ok;

    *same = FALSE;
    if (file == INVALID_HANDLE_VALUE)
        return 0;
    ok = evt_read_at(file, 0, &head, sizeof(head)) && head.magic == FILE_MAGIC;
    *same = ok && reader->segment.number == number && reader->segment.first == head.first &&
            GetFileSizeEx(file, &size) && size.QuadPart == reader->segment.size;
    CloseHandle(file);
    return ok ? head.first : 0;
}

const struct record *evt_reader_find(struct reader *reader, UINT64 id, BOOL backward)
{
    DWORD numbers[MOST_LISTED];
    const struct record *found = NULL;
    int count, at;
    BOOL same = FALSE;

    if (covers(&reader->segment, id))
        return find_in(&reader->segment, id, backward);
    count = (int)evt_list_files(reader->log, numbers);
    for (at = count - 1; at > 0; at--)
    {
        UINT64 first = file_first(reader, numbers[at], &same);

        if (first && first <= id)
            break;
    }
    for (; at >= 0 && at < count && !found; at += backward ? -1 : 1)
    {
        file_first(reader, numbers[at], &same);
        if (!same)
        {
            evt_segment_end(&reader->segment);
            if (!evt_segment_read(&reader->segment, reader->log, numbers[at]))
                continue;
        }
        found = find_in(&reader->segment, id, backward);
    }
    return found;
}

DWORD evt_log_extent(const WCHAR *log, struct log_range *range)
{
    DWORD numbers[MOST_LISTED];
    unsigned count = evt_list_files(log, numbers);
    UINT64 next = 1;

    memset(range, 0, sizeof(*range));
    for (unsigned i = 0; i < count; i++)
    {
        struct segment segment = {0};
        BY_HANDLE_FILE_INFORMATION info;
        HANDLE file = evt_open_file(log, numbers[i], GENERIC_READ, OPEN_EXISTING);

        if (file != INVALID_HANDLE_VALUE && GetFileInformationByHandle(file, &info))
        {
            range->bytes += info.nFileSizeLow;
            if (!range->made)
                range->made = (UINT64)info.ftCreationTime.dwHighDateTime << 32 | info.ftCreationTime.dwLowDateTime;
        }
        if (file != INVALID_HANDLE_VALUE)
            CloseHandle(file);
        if (!evt_segment_read(&segment, log, numbers[i]))
            continue;
        if (!range->oldest && segment.count)
            range->oldest = evt_segment_record(&segment, 0)->id;
        next = max(next, evt_segment_next(&segment));
        evt_segment_end(&segment);
    }
    if (!range->oldest)
        range->oldest = next;
    range->newest = next - 1;
    return ERROR_SUCCESS;
}
