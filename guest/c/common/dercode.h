/*
 * DER (ITU-T X.690): reading within bounds, and writing from the end to the beginning. It knows no Windows and no Wine,
 * and is tested on Linux.
 */
#ifndef MULLION_DERCODE_H
#define MULLION_DERCODE_H

#include <windows.h>

enum
{
    DER_INTEGER = 0x02,
    DER_BIT_STRING = 0x03,
    DER_OCTET_STRING = 0x04,
    DER_NULL = 0x05,
    DER_OID = 0x06,
    DER_SEQUENCE = 0x30,
    DER_SET = 0x31,
    DER_CONTEXT = 0x80,            /* [0] of simple content, [1] is 0x81 … */
    DER_CONTEXT_CONSTRUCTED = 0xa0 /* [0] of elements */
};

struct bytes
{
    const BYTE *data;
    SIZE_T size;
};

/*
 * Takes the first element from the front of from; FALSE, and from stays, if there is none that is whole and of definite
 * length.
 */
BOOL der_next(struct bytes *from, BYTE *tag, struct bytes *content);

/* The same for an element of this tag only. */
BOOL der_take(struct bytes *from, BYTE tag, struct bytes *content);

/* Takes an INTEGER that is not negative, and drops its leading zeros; of 0 nothing is left. */
BOOL der_take_number(struct bytes *from, struct bytes *number);

/* Takes an INTEGER that fits into 31 bits. */
BOOL der_take_small(struct bytes *from, DWORD *number);

BOOL der_bytes_equal(struct bytes a, const void *data, SIZE_T size);

/* What is written ends at end; without end it is only measured. */
struct der_out
{
    BYTE *end;
    SIZE_T room, size;
};

void der_put(struct der_out *out, const void *data, SIZE_T size);

/* Makes all that was written since the size was since the content of an element. */
void der_wrap(struct der_out *out, BYTE tag, SIZE_T since);

/* An INTEGER of big-endian bytes. */
void der_put_number(struct der_out *out, const BYTE *data, SIZE_T size);

#endif
