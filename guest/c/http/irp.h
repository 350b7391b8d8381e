/*
 * The border between the driver's two worlds: driver.c and irp.c speak of IRPs with the I/O manager, everything else is
 * a program on Winsock and knows them as operations.
 */
#ifndef MULLION_HTTP_IRP_H
#define MULLION_HTTP_IRP_H

#include <stddef.h>
#include <stdint.h>

/* Results, as NTSTATUS; httpapi.dll makes Win32's errors of them. */
// clang-format off
enum
{
    DONE               = 0x00000000,
    PENDING            = 0x00000103,
    MORE_DATA          = (int)0x80000005, /* ERROR_MORE_DATA */
    WRONG_HANDLE       = (int)0xC0000008, /* ERROR_INVALID_HANDLE */
    WRONG_PARAMETER    = (int)0xC000000D, /* ERROR_INVALID_PARAMETER */
    END_OF_FILE        = (int)0xC0000011, /* ERROR_HANDLE_EOF */
    NO_MEMORY          = (int)0xC0000017, /* ERROR_NOT_ENOUGH_MEMORY */
    NO_ACCESS          = (int)0xC0000022, /* ERROR_ACCESS_DENIED */
    TOO_SMALL          = (int)0xC0000023, /* ERROR_INSUFFICIENT_BUFFER */
    NOT_FOUND          = (int)0xC0000034, /* ERROR_FILE_NOT_FOUND */
    EXISTS             = (int)0xC0000035, /* ERROR_ALREADY_EXISTS */
    SHARED             = (int)0xC0000043, /* ERROR_SHARING_VIOLATION */
    NOT_SUPPORTED      = (int)0xC00000BB, /* ERROR_NOT_SUPPORTED */
    CANCELLED          = (int)0xC0000120, /* ERROR_OPERATION_ABORTED */
    NO_CONNECTION      = (int)0xC000023A, /* ERROR_CONNECTION_INVALID */
};
// clang-format on

struct file;  /* an open file of the device */
struct block; /* a part of a response */

/* One request of a program. In and out share the buffer, as METHOD_BUFFERED has it. */
struct operation
{
    struct operation *next; /* in the list that it waits in, or of those that are to be completed */
    void *irp;
    struct file *file;
    uint32_t code, in_size, out_size;
    uint32_t flags; /* of HTTP_IOCTL_BODY: its input does not outlive the first byte of the answer */
    uint8_t *buffer;
    int result;      /* set when it leaves the list that it waited in */
    uint64_t length; /* of the answer, or the number that it tells */

    struct operation **list; /* that it waits in, or NULL */
    struct block *block;     /* whose end it waits for, or NULL */
    uint8_t yielded;         /* it has a result, and its cancellation, which runs, completes it */
};

/*
 * Called by driver.c, without the lock; http_cancel with a lock of the I/O manager, which http_irp_complete takes too.
 */
int http_start(void);
struct file *http_open(void);
void http_close(struct file *file);
/* Takes the operation, and completes it now or later. */
void http_ioctl(struct operation *op);
void http_cancel(struct operation *op);
/* Keeps an operation from being cancelled; 0: http_cancel is on its way for it. */
int http_irp_claim(struct operation *op);

/* Answers an IRP that is no operation. */
void http_irp_answer(void *request, int status, uint64_t length);
/* Answers an operation and frees it. It must be in no list, and the lock not held. */
void http_irp_complete(struct operation *op);
/* To be called now and then, without the lock. */
void http_irp_tick(void);

#endif
