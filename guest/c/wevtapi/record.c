/* The form of an event on disk: writing it, and finding what is whole. */
#include "record.h"

#include <string.h>

enum
{
    TYPE_ERROR = 1, /* winnt.h EVENTLOG_…_TYPE */
    TYPE_WARNING = 2,
    TYPE_AUDIT_SUCCESS = 8,
    TYPE_AUDIT_FAILURE = 16
};

/* CRC-32 of IEEE 802.3, four bits at a time. */
static DWORD checksum(const BYTE *bytes, SIZE_T size)
{
    static const DWORD table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                    0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                    0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    DWORD sum = 0xffffffff;

    for (SIZE_T i = 0; i < size; i++)
    {
        sum = table[(sum ^ bytes[i]) & 15] ^ (sum >> 4);
        sum = table[(sum ^ (bytes[i] >> 4)) & 15] ^ (sum >> 4);
    }
    return ~sum;
}

static DWORD record_checksum(const BYTE *record, DWORD size)
{
    const DWORD covered = FIELD_OFFSET(struct record, checksum) + sizeof(DWORD);

    return checksum(record + covered, size - covered);
}

/* The length of a text with its zero, in bytes; 0: longer than most. */
static DWORD text_size(const WCHAR *text, DWORD most)
{
    DWORD length = 0;

    while (text[length])
    {
        if (++length > most)
            return 0;
    }
    return (length + 1) * sizeof(WCHAR);
}

DWORD evt_record_size(const struct event_parts *parts)
{
    DWORD source = text_size(parts->source, MOST_NAME), computer = text_size(parts->computer, MOST_NAME), size;

    if (!source || !computer || parts->strings > MOST_STRINGS || parts->data_size > MOST_DATA ||
        parts->sid_size > SECURITY_MAX_SID_SIZE)
        return 0;
    size = sizeof(struct record) + source + computer + parts->sid_size + parts->data_size;
    for (unsigned i = 0; i < parts->strings; i++)
    {
        DWORD one = parts->string[i] ? text_size(parts->string[i], MOST_CHARS) : sizeof(WCHAR);

        if (!one || (size += one) > MOST_RECORD)
            return 0;
    }
    size = (size + RECORD_ALIGN - 1) & ~(DWORD)(RECORD_ALIGN - 1);
    return size > MOST_RECORD ? 0 : size;
}

static BYTE *put(BYTE *at, const void *bytes, DWORD size)
{
    if (size)
        memcpy(at, bytes, size);
    return at + size;
}

static BYTE *put_text(BYTE *at, const WCHAR *text, DWORD most)
{
    return text ? put(at, text, text_size(text, most)) : put(at, L"", sizeof(WCHAR));
}

void evt_record_write(struct record *record, DWORD size, UINT64 id, const struct event_parts *parts)
{
    BYTE *at = (BYTE *)(record + 1);

    memset(record, 0, size);
    record->magic = RECORD_MAGIC;
    record->size = size;
    record->type = parts->type;
    record->category = parts->category;
    record->id = id;
    record->time = parts->time;
    record->event = parts->event;
    record->process = parts->process;
    record->thread = parts->thread;
    record->strings = parts->strings;
    record->sid_size = parts->sid_size;
    record->data_size = parts->data_size;
    at = put_text(at, parts->source, MOST_NAME);
    at = put_text(at, parts->computer, MOST_NAME);
    for (unsigned i = 0; i < parts->strings; i++)
        at = put_text(at, parts->string[i], MOST_CHARS);
    at = put(at, parts->sid, parts->sid_size);
    put(at, parts->data, parts->data_size);
    record->checksum = record_checksum((const BYTE *)record, size);
}

/* The place after count texts that begin at offset, or 0. */
static SIZE_T after_texts(const BYTE *record, SIZE_T size, SIZE_T offset, unsigned count)
{
    for (; count; count--)
    {
        WCHAR c;

        do
        {
            if (offset + sizeof(WCHAR) > size)
                return 0;
            memcpy(&c, record + offset, sizeof(c));
            offset += sizeof(WCHAR);
        } while (c);
    }
    return offset;
}

BOOL evt_record_fits(const BYTE *bytes, SIZE_T size)
{
    struct record head;
    SIZE_T end;

    if (size < sizeof(head))
        return FALSE;
    memcpy(&head, bytes, sizeof(head));
    if (head.magic != RECORD_MAGIC || head.size < sizeof(head) || head.size > MOST_RECORD || head.size > size ||
        head.size % RECORD_ALIGN || head.strings > MOST_STRINGS || head.sid_size > SECURITY_MAX_SID_SIZE ||
        head.data_size > MOST_DATA || !head.id)
        return FALSE;
    if (head.checksum != record_checksum(bytes, head.size))
        return FALSE;
    end = after_texts(bytes, head.size, sizeof(head), 2u + head.strings);
    return end && end + head.sid_size + head.data_size <= head.size;
}

SIZE_T evt_record_find(const BYTE *bytes, SIZE_T size, SIZE_T start)
{
    static const DWORD magic = RECORD_MAGIC;

    for (; start + sizeof(struct record) <= size; start += RECORD_ALIGN)
    {
        if (!memcmp(bytes + start, &magic, sizeof(magic)) && evt_record_fits(bytes + start, size - start))
            return start;
    }
    return size;
}

static const BYTE *after(const struct record *record, unsigned texts)
{
    return (const BYTE *)record + after_texts((const BYTE *)record, record->size, sizeof(*record), texts);
}

const WCHAR *evt_record_text(const struct record *record, unsigned number)
{
    return number < 2u + record->strings ? (const WCHAR *)after(record, number) : NULL;
}

const BYTE *evt_record_sid(const struct record *record)
{
    return after(record, 2u + record->strings);
}

const BYTE *evt_record_data(const struct record *record)
{
    return evt_record_sid(record) + record->sid_size;
}

/* winmeta.xml: 2 is an error, 3 a warning, 4 information, 0 stands for the audits. */
BYTE evt_record_level(const struct record *record)
{
    switch (record->type)
    {
    case TYPE_ERROR: return 2;
    case TYPE_WARNING: return 3;
    case TYPE_AUDIT_SUCCESS:
    case TYPE_AUDIT_FAILURE: return 0;
    default: return 4;
    }
}

/* winmeta.xml: EventlogClassic, with AuditSuccess or AuditFailure. */
UINT64 evt_record_keywords(const struct record *record)
{
    const UINT64 classic = (UINT64)1 << 55, success = (UINT64)1 << 53, failure = (UINT64)1 << 52;

    return classic | (record->type == TYPE_AUDIT_SUCCESS ? success : 0) |
           (record->type == TYPE_AUDIT_FAILURE ? failure : 0);
}
