/* Logs and their sources, as the registry has them. */
#include "channels.h"

#include <stdlib.h>
#include <wchar.h>

#include "store.h"

static const WCHAR root[] = L"SYSTEM\\CurrentControlSet\\Services\\EventLog";
static const WCHAR *const of_windows[] = {L"Application", L"Security", L"Setup", L"System"};

void evt_names_free(struct names *names)
{
    for (unsigned i = 0; i < names->count; i++)
        free(names->name[i]);
    free(names->name);
    names->name = NULL;
    names->count = 0;
}

static void names_add(struct names *names, const WCHAR *name)
{
    WCHAR **more;

    for (unsigned i = 0; i < names->count; i++)
    {
        if (!_wcsicmp(names->name[i], name))
            return;
    }
    if (!(more = realloc(names->name, (names->count + 1) * sizeof(*more))))
        return;
    names->name = more;
    if ((more[names->count] = _wcsdup(name)))
        names->count++;
}

/* Opens a key below the root; NULL: there is none. */
static HKEY open_key(const WCHAR *log, const WCHAR *source)
{
    WCHAR path[600];
    HKEY key;

    if (_snwprintf(path, 600, L"%ls%ls%ls%ls%ls", root, log ? L"\\" : L"", log ? log : L"", source ? L"\\" : L"",
                   source ? source : L"") < 0)
        return NULL;
    return RegOpenKeyExW(HKEY_LOCAL_MACHINE, path, 0, KEY_READ, &key) ? NULL : key;
}

static void add_subkeys(struct names *names, const WCHAR *log)
{
    HKEY key = open_key(log, NULL);
    WCHAR name[256];
    DWORD length;

    if (!key)
        return;
    for (DWORD i = 0; length = 256, !RegEnumKeyExW(key, i, name, &length, NULL, NULL, NULL, NULL); i++)
    {
        /* the service's own key */
        if (log || (evt_log_name_fits(name) && _wcsicmp(name, L"Parameters")))
            names_add(names, name);
    }
    RegCloseKey(key);
}

void evt_log_names(struct names *names)
{
    names->name = NULL;
    names->count = 0;
    for (unsigned i = 0; i < sizeof(of_windows) / sizeof(of_windows[0]); i++)
        names_add(names, of_windows[i]);
    add_subkeys(names, NULL);
}

void evt_source_names(struct names *names)
{
    struct names logs;

    evt_log_names(&logs);
    names->name = NULL;
    names->count = 0;
    for (unsigned i = 0; i < logs.count; i++)
        add_subkeys(names, logs.name[i]);
    evt_names_free(&logs);
}

BOOL evt_log_find(const WCHAR *name, WCHAR *log)
{
    struct names logs;
    BOOL found = FALSE;

    evt_log_names(&logs);
    for (unsigned i = 0; i < logs.count && !found; i++)
    {
        if (!_wcsicmp(logs.name[i], name))
        {
            wcscpy(log, logs.name[i]);
            found = TRUE;
        }
    }
    evt_names_free(&logs);
    return found;
}

BOOL evt_source_log(const WCHAR *source, WCHAR *log)
{
    struct names logs;
    BOOL found = FALSE;

    if (evt_log_find(source, log))
        return TRUE;
    wcscpy(log, L"Application");
    if (wcschr(source, '\\') || wcslen(source) > MOST_NAME)
        return FALSE;
    evt_log_names(&logs);
    for (unsigned i = 0; i < logs.count && !found; i++)
    {
        HKEY key = open_key(logs.name[i], source);

        if (key)
        {
            RegCloseKey(key);
            wcscpy(log, logs.name[i]);
            found = TRUE;
        }
    }
    evt_names_free(&logs);
    return found;
}

DWORD evt_log_number(const WCHAR *log, const WCHAR *value, DWORD otherwise)
{
    DWORD number, size = sizeof(number), type;
    HKEY key = open_key(log, NULL);

    if (!key)
        return otherwise;
    if (RegQueryValueExW(key, value, NULL, &type, (BYTE *)&number, &size) || type != REG_DWORD ||
        size != sizeof(number))
        number = otherwise;
    RegCloseKey(key);
    return number;
}

WCHAR *evt_source_text(const WCHAR *log, const WCHAR *source, const WCHAR *value)
{
    HKEY key = open_key(log, source);
    DWORD size = 0, type, length;
    WCHAR *text = NULL, *expanded = NULL;

    if (!key)
        return NULL;
    if (!RegQueryValueExW(key, value, NULL, &type, NULL, &size) && (type == REG_SZ || type == REG_EXPAND_SZ) &&
        size < 0x10000 && (text = calloc(1, size + sizeof(WCHAR))) &&
        RegQueryValueExW(key, value, NULL, &type, (BYTE *)text, &size))
        text[0] = 0;
    RegCloseKey(key);
    if (text && (length = ExpandEnvironmentStringsW(text, NULL, 0)) && (expanded = calloc(length + 1, sizeof(WCHAR))))
        ExpandEnvironmentStringsW(text, expanded, length);
    free(text);
    if (expanded && !expanded[0])
    {
        free(expanded);
        return NULL;
    }
    return expanded;
}

BOOL evt_this_computer(const WCHAR *name)
{
    static const COMPUTER_NAME_FORMAT formats[] = {ComputerNameNetBIOS, ComputerNamePhysicalDnsHostname,
                                                   ComputerNamePhysicalDnsFullyQualified};
    WCHAR own[256];

    if (!name)
        return TRUE;
    while (*name == '\\')
        name++;
    if (!*name || !wcscmp(name, L".") || !_wcsicmp(name, L"localhost"))
        return TRUE;
    for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
    {
        DWORD length = 256;

        if (GetComputerNameExW(formats[i], own, &length) && !_wcsicmp(own, name))
            return TRUE;
    }
    return FALSE;
}
