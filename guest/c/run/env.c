/*
 * The environment of the program: the variables that Windows gives every process, without those of Wine and Linux, and
 * over them the container's own. Names are compared without regard to case, as in Windows.
 */
#include "run.h"
#include <cpuid.h>

/*
 * RtlSetCurrentEnvironment makes a block of the process' heap the environment; the old one is freed.
 * SetEnvironmentStrings of Wine sets one by one.
 */
void WINAPI RtlSetCurrentEnvironment(WCHAR *block, WCHAR **old);

/*
 * Variables of the Linux side that a Windows program should not see. Wine adds those that it reads itself
 * (WINEUSERNAME and so on) to every process again.
 */
static BOOL is_foreign(const WCHAR *entry)
{
    static const WCHAR *const names[] = {
        L"WINEPREFIX=", L"WINEDEBUG=", L"WINEARCH=",      L"WINESERVER=", L"WINEDLLPATH=", L"WINEPATH=", L"LANG=",
        L"LANGUAGE=",   L"LC_",        L"XDG_",           L"DISPLAY=",    L"SHLVL=",       L"OLDPWD=",   L"_=",
        L"HOSTNAME=",   L"USER=",      L"LOGNAME=",       L"SHELL=",      L"MAIL=",        L"TERM=",     L"container=",
        L"LD_",         L"MULLION_",   L"NOTIFY_SOCKET=", L"WINEPWD=",
    };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (run_str_case_prefix(entry, names[i]))
            return TRUE;
    return FALSE;
}

static void drop_foreign(void)
{
    WCHAR *block = GetEnvironmentStringsW();

    for (WCHAR *entry = block; *entry;)
    {
        WCHAR *next = entry + run_str_len(entry) + 1, *equals = entry + 1;

        if (is_foreign(entry))
        {
            while (*equals && *equals != '=')
                equals++;
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
    set_default(L"NUMBER_OF_PROCESSORS", run_str_from_number(system.dwNumberOfProcessors, digits));
    set_default(L"PROCESSOR_ARCHITECTURE", L"AMD64");
    set_default(L"PROCESSOR_LEVEL", run_str_from_number(system.wProcessorLevel, digits));
    set_default(L"OS", L"Windows_NT");
    set_default(L"SystemDrive", L"C:");
    set_default(L"SystemRoot", L"C:\\Windows");
    set_default(L"windir", L"C:\\Windows");
    set_default(L"ComSpec", L"C:\\Windows\\System32\\cmd.exe");
}

/*
 * has_profile returns whether the user has the folders that are made last. The names are spelled as Wine's own template
 * has them: another spelling Wine looks for in each folder on the way.
 */
static BOOL has_profile(const WCHAR *user)
{
    const WCHAR *profile = run_str_concat(L"C:\\users\\", user, L"\\AppData\\");

    return GetFileAttributesW(run_str_concat(profile, L"Roaming", L"")) != INVALID_FILE_ATTRIBUTES &&
           GetFileAttributesW(run_str_concat(profile, L"Local\\Temp", L"")) != INVALID_FILE_ATTRIBUTES;
}

/*
 * set_user sets the variables that depend on the user. The folders are made if the image lacks them, as Windows
 * makes a profile at the first logon.
 */
static void set_user(void)
{
    static const struct
    {
        const WCHAR *name, *folder;
    } folders[] = {{L"USERPROFILE", L""},
                   {NULL, L"\\AppData"},
                   {L"APPDATA", L"\\AppData\\Roaming"},
                   {L"LOCALAPPDATA", L"\\AppData\\Local"},
                   {L"TEMP", L"\\AppData\\Local\\Temp"},
                   {L"TMP", L"\\AppData\\Local\\Temp"}};
    WCHAR user[256], computer[MAX_COMPUTERNAME_LENGTH + 1] = L"";
    DWORD size = MAX_COMPUTERNAME_LENGTH + 1;
    BOOL there;

    if (GetComputerNameW(computer, &size))
        set_default(L"COMPUTERNAME", computer);
    if (!GetEnvironmentVariableW(L"WINEUSERNAME", user, 256))
        return;
    set_default(L"USERNAME", user);
    /*
     * the User Manager service makes the accounts of Windows' containers; others are the computer's (hooks/account.c)
     */
    if (run_str_equal(user, L"ContainerAdministrator") || run_str_equal(user, L"ContainerUser"))
        set_default(L"USERDOMAIN", L"User Manager");
    else
        set_default(L"USERDOMAIN", computer);
    set_default(L"HOMEDRIVE", L"C:");
    set_default(L"HOMEPATH", run_str_concat(L"\\Users\\", user, L""));
    there = has_profile(user);
    for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
    {
        WCHAR *path = run_str_concat(L"C:\\Users\\", user, folders[i].folder);

        if (!there)
            CreateDirectoryW(path, NULL);
        if (folders[i].name)
            set_default(folders[i].name, path);
    }
}

/*
 * is_name_end returns whether a variable's name ends at at: at a =, unless it is the first character (=C: is a
 * name).
 */
static BOOL is_name_end(const WCHAR *entry, const WCHAR *at)
{
    return !*at || (*at == '=' && at != entry);
}

static int name_length(const WCHAR *entry)
{
    const WCHAR *end = entry;

    while (!is_name_end(entry, end))
        end++;
    return (int)(end - entry);
}

static int compare_names(const WCHAR *a, const WCHAR *b)
{
    return CompareStringOrdinal(a, name_length(a), b, name_length(b), TRUE) - CSTR_EQUAL;
}

/* sort_entries sorts entries NAME=value by name, as Windows does; entries with the same name stay in their order. */
static void sort_entries(WCHAR **entries, SIZE_T count)
{
    WCHAR **from = entries, **to = run_mem_alloc(count * sizeof(*to));

    for (SIZE_T width = 1; width < count; width *= 2)
    {
        for (SIZE_T start = 0; start < count; start += 2 * width)
        {
            SIZE_T middle = min(start + width, count), end = min(start + 2 * width, count), a = start, b = middle;

            for (SIZE_T i = start; i < end; i++)
                to[i] = b == end || (a < middle && compare_names(from[a], from[b]) <= 0) ? from[a++] : from[b++];
        }
        WCHAR **swap = from;
        from = to;
        to = swap;
    }
    if (from != entries)
    {
        for (SIZE_T i = 0; i < count; i++)
            entries[i] = from[i];
        to = from;
    }
    run_mem_free(to);
}

/*
 * set_entries makes sorted entries the environment. Of several with the same name the last counts. Variables with an
 * empty value are left out: Windows cannot hold them, nor can its container runtime.
 */
static void set_entries(WCHAR **entries, SIZE_T count)
{
    SIZE_T total = 1;
    WCHAR *block, *at;

    for (SIZE_T i = 0; i < count; i++)
        total += run_str_len(entries[i]) + 1;
    block = at = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, total * sizeof(WCHAR));
    if (!block)
        ExitProcess(EXIT_NOT_STARTED);
    for (SIZE_T i = 0; i < count; i++)
    {
        if (i + 1 < count && !compare_names(entries[i], entries[i + 1]))
            continue;
        if (!entries[i][name_length(entries[i]) + 1])
            continue;
        run_str_copy(at, entries[i]);
        at += run_str_len(at) + 1;
    }
    RtlSetCurrentEnvironment(block, NULL);
}

/*
 * apply_file sets the variables of a file of NUL-separated NAME=value. A pod has seven variables for each Service of
 * its namespace. Setting thousands of them one by one takes minutes, so the whole environment is composed and set once.
 */
static void apply_file(const WCHAR *path)
{
    DWORD size = 0;
    char *data = run_unix_read(path, &size);
    WCHAR *own, *texts, *at, **entries;
    SIZE_T count = 0, length;

    if (!data)
    {
        run_say(L"read the environment from ", path, L": no such file; going on without it");
        return;
    }
    texts = run_mem_alloc(((SIZE_T)size + 1) * sizeof(WCHAR));
    length = size ? (SIZE_T)MultiByteToWideChar(CP_UTF8, 0, data, (int)size, texts, (int)size) : 0;
    own = GetEnvironmentStringsW();
    for (at = own; *at; at += run_str_len(at) + 1)
    {
    }
    entries = run_mem_alloc(((SIZE_T)(at - own) + length) / 2 * sizeof(*entries) +
                            sizeof(*entries)); /* an entry has at least two characters */
    for (at = own; *at; at += run_str_len(at) + 1)
        entries[count++] = at;
    for (at = texts; at < texts + length; at += run_str_len(at) + 1)
        if (*at && *at != '=' && at[name_length(at)])
            entries[count++] = at;
    sort_entries(entries, count);
    set_entries(entries, count);
    FreeEnvironmentStringsW(own);
    run_mem_free(entries); /* they may be megabytes, and this process stays */
    run_mem_free(texts);
}

/* run_set_own_environment sets what every process has. run_apply_environment adds what a file says; NULL: nothing. */
void run_set_own_environment(void)
{
    drop_foreign();
    set_processor();
    set_user();
}

void run_apply_environment(const WCHAR *env_file)
{
    if (env_file)
        apply_file(env_file);
}

/* run_keep_environment returns a copy of the environment, which run_restore_environment makes the environment again. */
WCHAR *run_keep_environment(SIZE_T *bytes)
{
    WCHAR *now = GetEnvironmentStringsW(), *end = now, *kept;

    while (*end)
        end += run_str_len(end) + 1;
    *bytes = (SIZE_T)(end + 1 - now) * sizeof(WCHAR);
    kept = run_mem_alloc(*bytes);
    memcpy(kept, now, *bytes);
    FreeEnvironmentStringsW(now);
    return kept;
}

void run_restore_environment(const WCHAR *kept, SIZE_T bytes)
{
    WCHAR *block = HeapAlloc(GetProcessHeap(), 0, bytes);

    if (!block)
        ExitProcess(EXIT_NOT_STARTED);
    memcpy(block, kept, bytes);
    RtlSetCurrentEnvironment(block, NULL);
}
