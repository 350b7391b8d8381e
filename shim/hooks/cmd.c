/*
 * cmd.exe: the commands that it reads from a pipe (NtReadFile), and the words of its version (LoadStringW).
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

typedef int(WINAPI *load_string)(HINSTANCE, UINT, WCHAR *, int);
typedef LONG(WINAPI *reg_get)(HKEY, const WCHAR *, const WCHAR *, DWORD, DWORD *, void *, DWORD *);

static nt_read_file original_read;
static load_string original_load;

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

/* The revision of the Windows build, as Windows writes it. */
static DWORD revision(void)
{
    reg_get get = (reg_get)(void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "RegGetValueW");
    DWORD number = 0, size = sizeof(number);

    if (get)
        get(HKEY_LOCAL_MACHINE, L"Software\\Microsoft\\Windows NT\\CurrentVersion", L"UBR", RRF_RT_REG_DWORD, NULL, &number, &size);
    return number;
}

/* The string is a format, whose argument is the version without the revision. */
static int WINAPI hook_LoadStringW(HINSTANCE module, UINT id, WCHAR *buffer, int size)
{
    static const WCHAR wine[] = L"Microsoft Windows %1!S!", windows[] = L"Microsoft Windows [Version %1!S!.";
    int length = original_load(module, id, buffer, size);
    WCHAR digits[12] = {0}, rest[16], *end = digits + 10;
    DWORD number;

    if (length < lstrlenW(wine) || memcmp(buffer, wine, sizeof(wine) - sizeof(WCHAR)) || length - lstrlenW(wine) >= 16 || size < 64)
        return length;
    lstrcpyW(rest, buffer + lstrlenW(wine));
    digits[10] = L']';
    number = revision();
    do
        *--end = L'0' + number % 10;
    while (number /= 10);
    lstrcpyW(buffer, windows);
    lstrcatW(buffer, end);
    lstrcatW(buffer, rest);
    return lstrlenW(buffer);
}

void cmd_start(void)
{
    if (!is_program(L"cmd.exe"))
        return;
    patch_function(GetModuleHandleW(L"ntdll.dll"), "NtReadFile", hook_NtReadFile, (void **)&original_read);
    patch_function(GetModuleHandleW(L"user32.dll"), "LoadStringW", hook_LoadStringW, (void **)&original_load);
}
