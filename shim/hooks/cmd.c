/*
 * cmd.exe that reads its commands from a pipe: NtReadFile.
 *
 * Fact (Wine 8.0, programs/cmd/batch.c WCMD_fgets): cmd.exe reads a buffer full, takes the first line and moves the
 * file's position back to the second. A pipe has no position, so all further lines in the buffer are lost. With
 * Windows' cmd.exe no lines are lost, and programs that it starts can read on from the same pipe. Here a read from a
 * pipe that is the standard input ends after a newline, and takes nothing beyond it out of the pipe: it reads byte by
 * byte, because there is no other way to find the end of the line.
 */
#include "hooks.h"
#include "services.h"

typedef NTSTATUS(WINAPI *nt_read_file)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG, LARGE_INTEGER *, ULONG *);

static nt_read_file original_read;

static NTSTATUS read_byte(HANDLE file, IO_STATUS_BLOCK *io, char *byte)
{
    NTSTATUS status = original_read(file, NULL, NULL, NULL, io, byte, 1, NULL, NULL);

    if (status == STATUS_PENDING) /* a pipe opened for overlapped reading */
    {
        WaitForSingleObject(file, INFINITE);
        status = io->Status;
    }
    return status;
}

/* Reads up to a newline. An error or the end of the input after a part of a line is reported by the next read. */
static NTSTATUS read_line(HANDLE file, IO_STATUS_BLOCK *io, char *buffer, ULONG size)
{
    IO_STATUS_BLOCK one;
    ULONG done = 0;
    NTSTATUS status;

    do
    {
        one.Status = STATUS_SUCCESS;
        one.Information = 0;
        status = read_byte(file, &one, buffer + done);
        if (status || !one.Information)
            break;
        done++;
    } while (done < size && buffer[done - 1] != '\n');
    io->Status = done ? STATUS_SUCCESS : status;
    io->Information = done;
    return io->Status;
}

static NTSTATUS WINAPI hook_NtReadFile(HANDLE file, HANDLE event, void *apc, void *apc_argument, IO_STATUS_BLOCK *io, void *buffer, ULONG size,
                                       LARGE_INTEGER *offset, ULONG *key)
{
    if (event || apc || !size || file != GetStdHandle(STD_INPUT_HANDLE) || GetFileType(file) != FILE_TYPE_PIPE)
        return original_read(file, event, apc, apc_argument, io, buffer, size, offset, key);
    return read_line(file, io, buffer, size);
}

void cmd_start(void)
{
    if (is_program(L"cmd.exe"))
        patch_function(GetModuleHandleW(L"ntdll.dll"), "NtReadFile", hook_NtReadFile, (void **)&original_read);
}
