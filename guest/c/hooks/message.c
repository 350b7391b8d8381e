/*
 * The words of system errors: FormatMessage says what Windows says.
 *
 * Facts (Wine 8.0): its message table has words of its own ("Access denied.", "Path not found.") where Windows has
 * others, and programs and tests read them: Go and Rust programs use these texts as errors, cmd.exe prints them,
 * Kubernetes' tests compare them (test/e2e/windows/security_context.go, "Access is denied.";
 * pkg/kubelet/winstats/winstats_test.go). Below are the codes that programs meet, in the words of
 * https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes and
 * https://learn.microsoft.com/en-us/windows/win32/winsock/windows-sockets-error-codes-2; for every other code Wine's
 * own text remains.
 */
#include "hooks.h"

#define ENGLISH_US 0x409
#define HRESULT_WIN32 0x80070000u

struct message
{
    DWORD code;
    const WCHAR *text;
};

static const struct message messages[] = {
    {1, L"Incorrect function."},
    {2, L"The system cannot find the file specified."},
    {3, L"The system cannot find the path specified."},
    {4, L"The system cannot open the file."},
    {5, L"Access is denied."},
    {6, L"The handle is invalid."},
    {13, L"The data is invalid."},
    {15, L"The system cannot find the drive specified."},
    {17, L"The system cannot move the file to a different disk drive."},
    {18, L"There are no more files."},
    {19, L"The media is write protected."},
    {21, L"The device is not ready."},
    {29, L"The system cannot write to the specified device."},
    {30, L"The system cannot read from the specified device."},
    {31, L"A device attached to the system is not functioning."},
    {32, L"The process cannot access the file because it is being used by another process."},
    {33, L"The process cannot access the file because another process has locked a portion of the file."},
    {38, L"Reached the end of the file."},
    {50, L"The request is not supported."},
    {53, L"The network path was not found."},
    {64, L"The specified network name is no longer available."},
    {67, L"The network name cannot be found."},
    {80, L"The file exists."},
    {82, L"The directory or file cannot be created."},
    {87, L"The parameter is incorrect."},
    {109, L"The pipe has been ended."},
    {110, L"The system cannot open the device or file specified."},
    {111, L"The file name is too long."},
    {112, L"There is not enough space on the disk."},
    {120, L"This function is not supported on this system."},
    {121, L"The semaphore timeout period has expired."},
    {122, L"The data area passed to a system call is too small."},
    {123, L"The filename, directory name, or volume label syntax is incorrect."},
    {126, L"The specified module could not be found."},
    {127, L"The specified procedure could not be found."},
    {128, L"There are no child processes to wait for."},
    {131, L"An attempt was made to move the file pointer before the beginning of the file."},
    {145, L"The directory is not empty."},
    {161, L"The specified path is invalid."},
    {170, L"The requested resource is in use."},
    {183, L"Cannot create a file when that file already exists."},
    {193, L"%1 is not a valid Win32 application."},
    {203, L"The system could not find the environment option that was entered."},
    {206, L"The filename or extension is too long."},
    {230, L"The pipe state is invalid."},
    {231, L"All pipe instances are busy."},
    {232, L"The pipe is being closed."},
    {233, L"No process is on the other end of the pipe."},
    {234, L"More data is available."},
    {259, L"No more data is available."},
    {267, L"The directory name is invalid."},
    {487, L"Attempt to access invalid address."},
    {535, L"There is a process on other end of the pipe."},
    {536, L"Waiting for a process to open the other end of the pipe."},
    {995, L"The I/O operation has been aborted because of either a thread exit or an application request."},
    {996, L"Overlapped I/O event is not in a signaled state."},
    {997, L"Overlapped I/O operation is in progress."},
    {998, L"Invalid access to memory location."},
    {1056, L"An instance of the service is already running."},
    {1060, L"The specified service does not exist as an installed service."},
    {1062, L"The service has not been started."},
    {1072, L"The specified service has been marked for deletion."},
    {1073, L"The specified service already exists."},
    {1168, L"Element not found."},
    {1223, L"The operation was canceled by the user."},
    {1225, L"The remote computer refused the network connection."},
    {1314, L"A required privilege is not held by the client."},
    {1326, L"The user name or password is incorrect."},
    {1332, L"No mapping between account names and security IDs was done."},
    {1337, L"The security ID structure is invalid."},
    {1392, L"The file or directory is corrupted and unreadable."},
    {1450, L"Insufficient system resources exist to complete the requested service."},
    {1460, L"This operation returned because the timeout period expired."},
    {4390, L"The file or directory is not a reparse point."},
    {4392, L"The data present in the reparse point buffer is invalid."},
    {10013, L"An attempt was made to access a socket in a way forbidden by its access permissions."},
    {10022, L"An invalid argument was supplied."},
    {10035, L"A non-blocking socket operation could not be completed immediately."},
    {10038, L"An operation was attempted on something that is not a socket."},
    {10048, L"Only one usage of each socket address (protocol/network address/port) is normally permitted."},
    {10049, L"The requested address is not valid in its context."},
    {10050, L"A socket operation encountered a dead network."},
    {10051, L"A socket operation was attempted to an unreachable network."},
    {10053, L"An established connection was aborted by the software in your host machine."},
    {10054, L"An existing connection was forcibly closed by the remote host."},
    {10055,
     L"An operation on a socket could not be performed because the system lacked sufficient buffer space or because a "
     "queue was full."},
    {10057,
     L"A request to send or receive data was disallowed because the socket is not connected and (when sending on a "
     "datagram socket using a sendto call) no address was supplied."},
    {10060,
     L"A connection attempt failed because the connected party did not properly respond after a period of time, or "
     "established connection failed because connected host has failed to respond."},
    {10061, L"No connection could be made because the target machine actively refused it."},
    {10065, L"A socket operation was attempted to an unreachable host."},
    {11001, L"No such host is known."},
};

enum
{
    MESSAGE_UNITS = 256
};

typedef DWORD(WINAPI *format_w)(DWORD, const void *, DWORD, DWORD, WCHAR *, DWORD, va_list *);
typedef DWORD(WINAPI *format_a)(DWORD, const void *, DWORD, DWORD, char *, DWORD, va_list *);

static format_w original_format_w;
static format_a original_format_a;

/*
 * Windows' text for a code, or NULL if the code is not listed, or if the caller wants another language or searches a
 * module of its own first.
 */
static const WCHAR *text_of(DWORD flags, DWORD code, DWORD language)
{
    unsigned low = 0, high = sizeof(messages) / sizeof(messages[0]);

    if (!(flags & FORMAT_MESSAGE_FROM_SYSTEM) || (flags & (FORMAT_MESSAGE_FROM_STRING | FORMAT_MESSAGE_FROM_HMODULE)) ||
        (language && language != ENGLISH_US))
        return NULL;
    if ((code & 0xffff0000u) == HRESULT_WIN32)
        code &= 0xffff;
    while (low < high)
    {
        unsigned middle = (low + high) / 2;

        if (messages[middle].code == code)
            return messages[middle].text;
        if (messages[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The flags for the same call with a text in place of the system's. */
static DWORD from_string(DWORD flags)
{
    return (flags & ~(DWORD)FORMAT_MESSAGE_FROM_SYSTEM) | FORMAT_MESSAGE_FROM_STRING;
}

static DWORD WINAPI hook_FormatMessageW(DWORD flags, const void *source, DWORD code, DWORD language, WCHAR *buffer,
                                        DWORD size, va_list *args)
{
    const WCHAR *text = text_of(flags, code, language);
    WCHAR line[MESSAGE_UNITS];

    if (!text)
        return original_format_w(flags, source, code, language, buffer, size, args);
    lstrcpyW(line, text);
    lstrcatW(line, L"\r\n");
    return original_format_w(from_string(flags), line, 0, 0, buffer, size, args);
}

static DWORD WINAPI hook_FormatMessageA(DWORD flags, const void *source, DWORD code, DWORD language, char *buffer,
                                        DWORD size, va_list *args)
{
    const WCHAR *text = text_of(flags, code, language);
    char line[MESSAGE_UNITS];
    int i = 0;

    if (!text)
        return original_format_a(flags, source, code, language, buffer, size, args);
    for (; text[i]; i++) /* the texts are ASCII */
        line[i] = (char)text[i];
    lstrcpyA(line + i, "\r\n");
    return original_format_a(from_string(flags), line, 0, 0, buffer, size, args);
}

void message_start(void)
{
    HMODULE kernelbase = GetModuleHandleW(L"kernelbase.dll");

    patch_function(kernelbase, "FormatMessageW", hook_FormatMessageW, (void **)&original_format_w);
    patch_function(kernelbase, "FormatMessageA", hook_FormatMessageA, (void **)&original_format_a);
}
