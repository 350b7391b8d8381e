/*
 * The driver's side of the I/O manager: the device, its files, and the programs' requests as operations. Every request
 * is left pending and completed, so that a program finds its end where it looks for it, by an event or by a completion
 * port (https://learn.microsoft.com/windows-hardware/drivers/kernel/handling-irps).
 */
#include <ntdef.h>
#include <ntstatus.h>
#include <ddk/wdm.h>

#include "irp.h"
#include "memory.h"
#include "httpioctl.h"

static void answer(IRP *irp, NTSTATUS status, ULONG_PTR length)
{
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = length;
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
    ULONG_PTR length = (ULONG_PTR)op->length;

    enlarge(irp, op);
    keep(irp, (LONG)(op->in_size > op->out_size ? op->in_size : op->out_size));
    http_memory_free(op);
    answer(irp, status, length);
}

static NTSTATUS NTAPI on_create(DEVICE_OBJECT *device, IRP *irp)
{
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    NTSTATUS status = STATUS_SUCCESS;

    (void)device;
    stack->FileObject->FsContext = http_open();
    if (!stack->FileObject->FsContext)
        status = STATUS_NO_MEMORY;
    answer(irp, status, 0);
    return status;
}

static NTSTATUS NTAPI on_close(DEVICE_OBJECT *device, IRP *irp)
{
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);

    (void)device;
    if (stack->FileObject->FsContext)
        http_close(stack->FileObject->FsContext);
    stack->FileObject->FsContext = NULL;
    answer(irp, STATUS_SUCCESS, 0);
    return STATUS_SUCCESS;
}

static void NTAPI on_cancel(DEVICE_OBJECT *device, IRP *irp)
{
    (void)device;
    IoReleaseCancelSpinLock(irp->CancelIrql);
    http_cancel(irp->Tail.Overlay.DriverContext[0]);
}

static NTSTATUS NTAPI on_ioctl(DEVICE_OBJECT *device, IRP *irp)
{
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    struct operation *op = http_memory_new(sizeof(*op));

    (void)device;
    if (!op || !stack->FileObject->FsContext)
    {
        http_memory_free(op);
        answer(irp, op ? STATUS_INVALID_HANDLE : STATUS_NO_MEMORY, 0);
        return op ? STATUS_INVALID_HANDLE : STATUS_NO_MEMORY;
    }
    op->irp = irp;
    op->file = stack->FileObject->FsContext;
    op->code = stack->Parameters.DeviceIoControl.IoControlCode;
    op->in_size = stack->Parameters.DeviceIoControl.InputBufferLength;
    op->out_size = stack->Parameters.DeviceIoControl.OutputBufferLength;
    op->buffer = irp->AssociatedIrp.SystemBuffer;
    irp->Tail.Overlay.DriverContext[0] = op;
    IoMarkIrpPending(irp);
    IoSetCancelRoutine(irp, on_cancel);
    http_ioctl(op);
    return STATUS_PENDING;
}

NTSTATUS NTAPI DriverEntry(DRIVER_OBJECT *driver, UNICODE_STRING *registry)
{
    UNICODE_STRING name;
    DEVICE_OBJECT *device;
    int status;

    (void)registry;
    status = http_start();
    if (status)
        return status;
    RtlInitUnicodeString(&name, HTTP_DEVICE);
    driver->MajorFunction[IRP_MJ_CREATE] = on_create;
    driver->MajorFunction[IRP_MJ_CLOSE] = on_close;
    driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = on_ioctl;
    return IoCreateDevice(driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
}
