/*
 * Named pipes made without read or write access, or by a name in other case: NtCreateNamedPipeFile.
 *
 * Fact: Windows looks up all names of objects without regard to case (Session Manager\kernel, ObCaseInsensitive is 1).
 * Wine does so only if it is asked to, and calls the folder PIPE; go-winio v0.4.15 asks for "pipe" and not to
 * (kubelet v1.20 with dockershim).
 *
 * Fact: Windows puts such an instance into the disconnected state, so that clients wait for the next instance (go-winio
 * v0.6.2 pipe.go, makeServerPipeHandle, which the kubelet's pod resources server and every containerd on Windows use).
 * In Wine 8.0 the instance listens, so the first client connects to an instance that nobody serves. Here a client of
 * our own connects first, and is disconnected.
 */
#include "hooks.h"

#define CODE_PIPE_DISCONNECT 0x110004u /* winioctl.h FSCTL_PIPE_DISCONNECT */
#define PIPE_DATA_ACCESS (FILE_READ_DATA | FILE_WRITE_DATA | GENERIC_READ | GENERIC_WRITE | GENERIC_ALL)

typedef NTSTATUS(WINAPI *create_named_pipe)(HANDLE *, ULONG, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, ULONG, ULONG,
                                            ULONG, ULONG, ULONG, ULONG, ULONG, ULONG, ULONG, LARGE_INTEGER *);

static create_named_pipe original_create_pipe;

static void disconnect(HANDLE pipe, const OBJECT_ATTRIBUTES *attributes)
{
    OBJECT_ATTRIBUTES name = *attributes;
    IO_STATUS_BLOCK io;
    HANDLE client;

    name.SecurityDescriptor = NULL;
    if (originals.NtOpenFile(&client, FILE_READ_ATTRIBUTES | SYNCHRONIZE, &name, &io,
                             FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_SYNCHRONOUS_IO_NONALERT))
        return; /* a Wine in which the instance does not listen */
    originals.NtFsControlFile(pipe, NULL, NULL, NULL, &io, CODE_PIPE_DISCONNECT, NULL, 0, NULL, 0);
    originals.NtClose(client);
}

static NTSTATUS WINAPI hook_NtCreateNamedPipeFile(HANDLE *handle, ULONG access, OBJECT_ATTRIBUTES *attributes,
                                                  IO_STATUS_BLOCK *io, ULONG share, ULONG disposition, ULONG options,
                                                  ULONG type, ULONG read_mode, ULONG completion_mode, ULONG instances,
                                                  ULONG in_quota, ULONG out_quota, LARGE_INTEGER *timeout)
{
    OBJECT_ATTRIBUTES any_case;
    NTSTATUS status;

    if (attributes && !(attributes->Attributes & OBJ_CASE_INSENSITIVE))
    {
        any_case = *attributes;
        any_case.Attributes |= OBJ_CASE_INSENSITIVE;
        attributes = &any_case;
    }

    status = original_create_pipe(handle, access, attributes, io, share, disposition, options, type, read_mode,
                                  completion_mode, instances, in_quota, out_quota, timeout);
    if (!status && !(access & PIPE_DATA_ACCESS))
        disconnect(*handle, attributes);
    return status;
}

void pipe_start(void)
{
    patch_function(GetModuleHandleW(L"ntdll.dll"), "NtCreateNamedPipeFile", hook_NtCreateNamedPipeFile,
                   (void **)&original_create_pipe);
}
