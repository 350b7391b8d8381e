/*
 * powershell.exe and pwsh.exe: two answers and a refusal. Wine's own powershell.exe ends with 0 and does nothing, so scripts believe that their commands ran;
 * this one says what is missing and ends with 1. 1 is what Windows PowerShell itself ends with when a command fails
 * (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_powershell_exe), so callers that check do the right thing.
 * The answers are those that the kubelet cannot do without: it asks, for every volume mount with a subPath, whether the path in the variable linkpath is a link
 * and where it leads (k8s.io/kubernetes v1.36.3, pkg/volume/util/subpath/subpath_windows.go, isLinkPath and evalSymlink). Only exactly these scripts are known.
 * One program serves both names: install it as system32\WindowsPowerShell\v1.0\powershell.exe, system32\powershell.exe and system32\pwsh.exe.
 */
#include <windows.h>
#include <winioctl.h>

enum { EXIT_REFUSED = 1, PATH_UNITS = 32768, REPARSE_BYTES = 16384 };

/* The layout that FSCTL_GET_REPARSE_POINT gives (https://learn.microsoft.com/en-us/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer). */
struct reparse {
    ULONG tag;
    USHORT length, reserved;
    USHORT substitute_at, substitute_bytes, print_at, print_bytes;
    union {
        struct { ULONG flags; WCHAR names[1]; } link;
        struct { WCHAR names[1]; } junction;
    } u;
};

static const WCHAR ask_type[] = L"$ErrorActionPreference = 'Stop'; (Get-Item -Force -LiteralPath $env:linkpath).LinkType";
static const WCHAR ask_target[] = L"$ErrorActionPreference = 'Stop'; (Get-Item -Force -LiteralPath $env:linkpath).Target";

static const WCHAR message[] =
    L"powershell.exe: Windows PowerShell is not part of Mullion: it needs the .NET Framework, which runs on Windows only. Nothing was run.\r\n"
    L"Use cmd.exe, or a program of the image itself (a Go, Rust or C program, or a batch file), for what the script does.\r\n";

static WCHAR path[PATH_UNITS];
static char bytes[PATH_UNITS * 3];
static union { struct reparse r; char room[REPARSE_BYTES]; } data;

/* say writes text to a standard handle: UTF-16 to a console, UTF-8 elsewhere. */
static void say(DWORD handle, const WCHAR *text, int units)
{
    HANDLE out = GetStdHandle(handle);
    DWORD mode, done;

    if (GetConsoleMode(out, &mode)) {
        WriteConsoleW(out, text, (DWORD)units, &done, NULL);
    } else {
        int n = WideCharToMultiByte(CP_UTF8, 0, text, units, bytes, sizeof(bytes), NULL, NULL);
        WriteFile(out, bytes, (DWORD)n, &done, NULL);
    }
}

/* script finds the text after /c, -c or -Command, without the quotes around it. */
static int script(const WCHAR *want)
{
    const WCHAR *line = GetCommandLineW();
    int at = 0, length = lstrlenW(line), units = lstrlenW(want);

    while (at + units <= length) {
        BOOL ends = line[at + units] == 0 || (line[at + units] == L'"' && line[at + units + 1] == 0);
        BOOL begins = at > 3 && (line[at - 1] == L' ' || (line[at - 1] == L'"' && line[at - 2] == L' '));
        if (ends && begins && CompareStringOrdinal(line + at, units, want, units, FALSE) == CSTR_EQUAL) {
            int option = line[at - 1] == L'"' ? at - 2 : at - 1;
            return option >= 2 && (line[option - 1] == L'c' || line[option - 1] == L'C') && (line[option - 2] == L'/' || line[option - 2] == L'-');
        }
        at++;
    }
    return 0;
}

/* fail says, as Get-Item does, that there is no such path. */
static void fail(void)
{
    static const WCHAR before[] = L"Get-Item : Cannot find path '", after[] = L"' because it does not exist.\r\n";

    say(STD_ERROR_HANDLE, before, lstrlenW(before));
    say(STD_ERROR_HANDLE, path, lstrlenW(path));
    say(STD_ERROR_HANDLE, after, lstrlenW(after));
    ExitProcess(EXIT_REFUSED);
}

/* answer prints the link's type or target; nothing for a path that is none. */
static void answer(BOOL target)
{
    DWORD length = GetEnvironmentVariableW(L"linkpath", path, PATH_UNITS), got;
    DWORD attributes = length && length < PATH_UNITS ? GetFileAttributesW(path) : INVALID_FILE_ATTRIBUTES;
    const WCHAR *name;
    HANDLE file;

    if (length >= PATH_UNITS) path[0] = 0;
    file = attributes == INVALID_FILE_ATTRIBUTES && GetLastError() != ERROR_CANT_RESOLVE_FILENAME ? INVALID_HANDLE_VALUE
         : CreateFileW(path, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                       FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE) fail();
    if (!DeviceIoControl(file, FSCTL_GET_REPARSE_POINT, NULL, 0, &data, sizeof(data), &got, NULL)) ExitProcess(0);
    if (data.r.tag != IO_REPARSE_TAG_SYMLINK && data.r.tag != IO_REPARSE_TAG_MOUNT_POINT) ExitProcess(0);
    if (!target) {
        name = data.r.tag == IO_REPARSE_TAG_SYMLINK ? L"SymbolicLink" : L"Junction";
        say(STD_OUTPUT_HANDLE, name, lstrlenW(name));
    } else {
        name = data.r.tag == IO_REPARSE_TAG_SYMLINK ? data.r.u.link.names : data.r.u.junction.names;
        if (data.r.print_bytes) say(STD_OUTPUT_HANDLE, name + data.r.print_at / 2, data.r.print_bytes / 2);
        else say(STD_OUTPUT_HANDLE, name + data.r.substitute_at / 2, data.r.substitute_bytes / 2);
    }
    say(STD_OUTPUT_HANDLE, L"\r\n", 2);
    ExitProcess(0);
}

void powershell_entry(void)
{
    if (script(ask_type)) answer(FALSE);
    if (script(ask_target)) answer(TRUE);
    say(STD_ERROR_HANDLE, message, lstrlenW(message));
    ExitProcess(EXIT_REFUSED);
}
