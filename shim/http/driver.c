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
    block = memory_new((size_t)op->length);
    if (block)
        memcpy(block, op->buffer, op->out_size);
    irp->UserBuffer = block;
}

int irp_claim(struct operation *op)
{
    return IoSetCancelRoutine((IRP *)op->irp, NULL) != NULL;
}

void irp_complete(struct operation *op)
{
    IRP *irp = op->irp;
    NTSTATUS status = op->result;
    ULONG_PTR length = (ULONG_PTR)op->length;

    enlarge(irp, op);
    memory_free(op);
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
    struct operation *op = memory_new(sizeof(*op));

    (void)device;
    if (!op || !stack->FileObject->FsContext)
    {
        memory_free(op);
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
