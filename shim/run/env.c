/*
 * The environment of the program: what Windows gives every process, without what only Wine and the Linux side know, and over it what the container's
 * configuration says. Names are compared without regard to case, as Windows does.
 */
#include "run.h"
#include <cpuid.h>

/* Variables of the Linux side that a Windows program has no business with. Wine adds those it reads itself (WINEUSERNAME and so on) to every process again. */
static BOOL is_foreign(const WCHAR *entry)
{
    static const WCHAR *const names[] = {
        L"WINEPREFIX=", L"WINEDEBUG=", L"WINEARCH=", L"WINESERVER=", L"WINEDLLPATH=", L"WINEPATH=", L"LANG=", L"LANGUAGE=", L"LC_", L"XDG_", L"DISPLAY=",
        L"SHLVL=", L"OLDPWD=", L"_=", L"HOSTNAME=", L"USER=", L"LOGNAME=", L"SHELL=", L"MAIL=", L"TERM=", L"container=", L"LD_",
        L"MULLION_", L"NOTIFY_SOCKET=", L"WINEPWD=",
    };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (str_case_prefix(entry, names[i])) return TRUE;
    return FALSE;
}

static void drop_foreign(void)
{
    WCHAR *block = GetEnvironmentStringsW();

    for (WCHAR *entry = block; *entry;) {
        WCHAR *next = entry + str_len(entry) + 1, *equals = entry + 1;

        if (is_foreign(entry)) {
            while (*equals && *equals != '=') equals++;
            *equals = 0;
            SetEnvironmentVariableW(entry, NULL);
        }
        entry = next;
    }
    FreeEnvironmentStringsW(block);
}

static void set_default(const WCHAR *name, const WCHAR *value)
{
    SetEnvironmentVariableW(name, value);
}

static void set_processor(void)
{
    SYSTEM_INFO system;
    WCHAR digits[24];

    GetSystemInfo(&system);
    set_default(L"NUMBER_OF_PROCESSORS", str_from_number(system.dwNumberOfProcessors, digits));
    set_default(L"PROCESSOR_ARCHITECTURE", L"AMD64");
    set_default(L"PROCESSOR_LEVEL", str_from_number(system.wProcessorLevel, digits));
    set_default(L"OS", L"Windows_NT");
    set_default(L"SystemDrive", L"C:");
    set_default(L"SystemRoot", L"C:\\Windows");
    set_default(L"windir", L"C:\\Windows");
    set_default(L"ComSpec", L"C:\\Windows\\System32\\cmd.exe");
}

/* set_user sets what depends on who runs the program. The folders are made where the image has none, as Windows makes a profile at the first logon. */
static void set_user(void)
{
    static const struct {
        const WCHAR *name, *folder;
    } folders[] = {{L"USERPROFILE", L""}, {NULL, L"\\AppData"}, {L"APPDATA", L"\\AppData\\Roaming"}, {L"LOCALAPPDATA", L"\\AppData\\Local"},
                   {L"TEMP", L"\\AppData\\Local\\Temp"}, {L"TMP", L"\\AppData\\Local\\Temp"}};
    WCHAR user[256], computer[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD size = MAX_COMPUTERNAME_LENGTH + 1;

    if (GetComputerNameW(computer, &size)) set_default(L"COMPUTERNAME", computer);
    if (!GetEnvironmentVariableW(L"WINEUSERNAME", user, 256)) return;
    set_default(L"USERNAME", user);
    set_default(L"USERDOMAIN", L"User Manager"); /* what Windows containers say: their accounts are made by the User Manager service */
    set_default(L"HOMEDRIVE", L"C:");
    set_default(L"HOMEPATH", str_concat(L"\\Users\\", user, L""));
    for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        WCHAR *path = str_concat(L"C:\\Users\\", user, folders[i].folder);

        CreateDirectoryW(path, NULL);
        if (folders[i].name) set_default(folders[i].name, path);
    }
}

/* apply_file sets the variables of a file of NUL-separated NAME=value. */
static void apply_file(const WCHAR *path)
{
    DWORD size = 0;
    char *data = unix_read(path, &size), *end;

    if (!data) {
        say(L"read the environment from ", path, L": no such file; going on without it");
        return;
    }
    for (end = data + size; data < end;) {
        int length = 0, wide;
        WCHAR *entry, *equals;

        while (data + length < end && data[length]) length++;
        wide = MultiByteToWideChar(CP_UTF8, 0, data, length, NULL, 0);
        entry = mem_alloc(((SIZE_T)wide + 1) * sizeof(WCHAR));
        MultiByteToWideChar(CP_UTF8, 0, data, length, entry, wide);
        for (equals = entry; *equals && *equals != '='; equals++) {}
        if (*equals && equals != entry) {
            *equals = 0;
            /* an empty value: Windows cannot hold one, and neither does its container runtime */
            SetEnvironmentVariableW(entry, equals[1] ? equals + 1 : NULL);
        }
        data += length + 1;
    }
}

void set_environment(const WCHAR *env_file)
{
    drop_foreign();
    set_processor();
    set_user();
    if (env_file) apply_file(env_file);
}
