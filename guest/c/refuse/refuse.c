/*
 * refuse.exe: takes the place of Windows programs of which Wine has only an empty one (dism, arp, subst, …). An
 * empty program prints nothing and ends with 0, so scripts believe that their commands ran. refuse.exe prints its name
 * and that nothing was run, and ends with 1. internal/windows/wine/stubs.go has the names, and installs it only where
 * Wine's program is still empty.
 */
#include <windows.h>

enum
{
    EXIT_REFUSED = 1,
    MESSAGE = 1024
};

static const WCHAR tail[] =
    L": this program of Windows is not part of Mullion: Wine, which stands in for Windows here, has only an empty one. "
    "Nothing was run.\r\n";

static DWORD append(WCHAR *to, DWORD at, const WCHAR *from)
{
    while (*from && at < MESSAGE - 1)
        to[at++] = *from++;
    return at;
}

void refuse_entry(void)
{
    static WCHAR path[MAX_PATH], message[MESSAGE];
    static char bytes[MESSAGE];
    HANDLE err = GetStdHandle(STD_ERROR_HANDLE);
    const WCHAR *name = path;
    DWORD length, mode, done;

    GetModuleFileNameW(NULL, path, MAX_PATH - 1);
    for (const WCHAR *c = path; *c; c++)
        if (*c == '\\')
            name = c + 1;
    length = append(message, append(message, 0, name), tail);
    if (GetConsoleMode(err, &mode))
    {
        WriteConsoleW(err, message, length, &done, NULL);
    }
    else
    {
        int n = WideCharToMultiByte(CP_UTF8, 0, message, (int)length, bytes, MESSAGE, NULL, NULL);

        WriteFile(err, bytes, n > 0 ? (DWORD)n : 0, &done, NULL);
    }
    ExitProcess(EXIT_REFUSED);
}
