/* The end of programs' requests: their IRPs are completed, and kept for a while. */
#include <ntdef.h>
#include <ntstatus.h>
#include <ddk/wdm.h>

#include "irp.h"
#include "memory.h"

void http_irp_answer(void *request, int status, uint64_t length)
{
    IRP *irp = request;

    irp->IoStatus.Status = status;
    irp->IoStatus.Information = (ULONG_PTR)length;
    IofCompleteRequest(irp, IO_NO_INCREMENT);
}

/*
 * Wine takes as many bytes of the caller's buffer back as the length says, also when it says how many there would be:
 * it gets a block that has them.
 */
static void enlarge(IRP *irp, const struct operation *op)
{
    void *block;

    if (op->result != MORE_DATA || op->length <= op->out_size)
        return;
    block = http_memory_new((size_t)op->length);
    if (block)
        memcpy(block, op->buffer, op->out_size);
    irp->UserBuffer = block;
}

int http_irp_claim(struct operation *op)
{
    return IoSetCancelRoutine((IRP *)op->irp, NULL) != NULL;
}

/*
 * An IRP that is completed stays for a while. Wine's server tells of a cancellation by the address of the IRP, also of
 * one that has been completed meanwhile; if its memory were another's by then, that one would be cancelled.
 */
struct kept
{
    struct kept *next;
    IRP *irp;
    LONG size; /* of its buffer */
    IO_COMPLETION_ROUTINE *routine;
    void *context;
};

enum
{
    MOST_KEPT = 16 << 20, /* bytes of buffers */
};

static struct kept *volatile young, *old;
static LONG kept_size;

/* Stands before the I/O manager's own routine for the end of an IRP, and leaves the IRP to http_irp_tick. */
static NTSTATUS NTAPI on_done(DEVICE_OBJECT *device, IRP *irp, void *context)
{
    struct kept *kept = context, *next;
    NTSTATUS status = kept->routine(device, irp, kept->context);

    if (status == STATUS_MORE_PROCESSING_REQUIRED) /* the I/O manager is not done with it, and frees it itself */
    {
        InterlockedAdd(&kept_size, -kept->size);
        http_memory_free(kept);
        return status;
    }
    do
    {
        next = young;
        kept->next = next;
    } while (InterlockedCompareExchangePointer((void *volatile *)&young, kept, next) != next);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void http_irp_tick(void)
{
    struct kept *kept = old, *next;

    old = InterlockedExchangePointer((void *volatile *)&young, NULL);
    for (; kept; kept = next)
    {
        next = kept->next;
        InterlockedAdd(&kept_size, -kept->size);
        IofCompleteRequest(kept->irp, IO_NO_INCREMENT); /* goes on where on_done has stopped it, and frees it */
        http_memory_free(kept);
    }
}

/* Keeps the IRP after its end, if there is room. */
static void keep(IRP *irp, LONG size)
{
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    struct kept *kept;

    if (!stack->CompletionRoutine || size > MOST_KEPT / 16 || InterlockedAdd(&kept_size, 0) > MOST_KEPT)
        return;
    kept = http_memory_new(sizeof(*kept));
    if (!kept)
        return;
    kept->irp = irp;
    kept->size = size;
    kept->routine = stack->CompletionRoutine;
    kept->context = stack->Context;
    InterlockedAdd(&kept_size, size);
    stack->CompletionRoutine = on_done;
    stack->Context = kept;
}

void http_irp_complete(struct operation *op)
{
    IRP *irp = op->irp;
    NTSTATUS status = op->result;
    uint64_t length = op->length;

    enlarge(irp, op);
    keep(irp, (LONG)(op->in_size > op->out_size ? op->in_size : op->out_size));
    http_memory_free(op);
    http_irp_answer(irp, status, length);
}
