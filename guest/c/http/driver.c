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

static NTSTATUS NTAPI on_create(DEVICE_OBJECT *device, IRP *irp)
{
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);
    NTSTATUS status = STATUS_SUCCESS;

    (void)device;
    stack->FileObject->FsContext = http_open();
    if (!stack->FileObject->FsContext)
        status = STATUS_NO_MEMORY;
    http_irp_answer(irp, status, 0);
    return status;
}

static NTSTATUS NTAPI on_close(DEVICE_OBJECT *device, IRP *irp)
{
    IO_STACK_LOCATION *stack = IoGetCurrentIrpStackLocation(irp);

    (void)device;
    if (stack->FileObject->FsContext)
        http_close(stack->FileObject->FsContext);
    stack->FileObject->FsContext = NULL;
    http_irp_answer(irp, STATUS_SUCCESS, 0);
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
        http_irp_answer(irp, op ? STATUS_INVALID_HANDLE : STATUS_NO_MEMORY, 0);
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
