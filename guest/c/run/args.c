/* Splitting and joining command lines, and finding the program that a command line names as Windows does. */
#include "run.h"

/*
 * run_split_command_line takes a command line apart as the Microsoft C run-time library does for arguments after the
 * first: 2n back slashes and a quote give n back slashes and begin or end a quoted part, 2n+1 give n and a quote,
 * others stand for themselves. https://learn.microsoft.com/en-us/cpp/c-language/parsing-c-command-line-arguments
 */
int run_split_command_line(const WCHAR *line, WCHAR ***argv)
{
    SIZE_T length = run_str_len(line);
    WCHAR *out = run_mem_alloc((length + 2) * sizeof(WCHAR));
    WCHAR **list = run_mem_alloc((length / 2 + 2) * sizeof(WCHAR *));
    int count = 0;

    for (;;)
    {
        BOOL quoted = FALSE;

        while (*line == ' ' || *line == '\t')
            line++;
        if (!*line)
            break;
        list[count++] = out;
        while (*line && (quoted || (*line != ' ' && *line != '\t')))
        {
            SIZE_T slashes = 0;

            while (line[slashes] == '\\')
                slashes++;
            if (line[slashes] == '"')
            {
                for (SIZE_T i = 0; i < slashes / 2; i++)
                    *out++ = '\\';
                line += slashes;
                if (slashes % 2)
                {
                    *out++ = '"';
                }
                else if (quoted && line[1] == '"')
                {
                    *out++ = '"';
                    line++;
                }
                else
                {
                    quoted = !quoted;
                }
                line++;
                continue;
            }
            for (SIZE_T i = 0; i < slashes; i++)
                *out++ = '\\';
            line += slashes;
            if (!slashes)
                *out++ = *line++;
        }
        *out++ = 0;
    }
    *argv = list;
    return count;
}

/*
 * quote_argument appends arg so that run_split_command_line gives it back, with quotes only where they are needed. It
 * returns the new end.
 */
static WCHAR *quote_argument(WCHAR *out, const WCHAR *arg)
{
    BOOL quote = !*arg;
    SIZE_T slashes = 0;

    for (const WCHAR *c = arg; *c; c++)
        if (*c == ' ' || *c == '\t')
            quote = TRUE;
    if (quote)
        *out++ = '"';
    for (; *arg; arg++)
    {
        if (*arg == '\\')
        {
            slashes++;
        }
        else
        {
            if (*arg == '"')
                for (slashes++; slashes; slashes--)
                    *out++ = '\\';
            slashes = 0;
        }
        *out++ = *arg;
    }
    if (quote)
    {
        for (; slashes; slashes--)
            *out++ = '\\';
        *out++ = '"';
    }
    *out = 0;
    return out;
}

/*
 * run_join_command_line makes the command line of a process from its arguments, exactly as containerd's Windows shim
 * does (each argument through EscapeArg of golang.org/x/sys/windows, joined by blanks; hcsshim v0.13
 * internal/cmd/cmd.go). cmd.exe is not treated specially there, nor here: ["cmd", "/c", "echo a b"] becomes cmd /c
 * "echo a b".
 */
WCHAR *run_join_command_line(int argc, WCHAR **argv)
{
    SIZE_T room = 1;
    WCHAR *line, *out;

    for (int i = 0; i < argc; i++)
        room += 2 * run_str_len(argv[i]) + 3;
    out = line = run_mem_alloc(room * sizeof(WCHAR));
    for (int i = 0; i < argc; i++)
    {
        if (i)
            *out++ = ' ';
        out = quote_argument(out, argv[i]);
    }
    return line;
}

/*
 * run_first_word returns the program named by a whole command line: the quoted part, or what stands before the first
 * blank.
 */
WCHAR *run_first_word(const WCHAR *line)
{
    WCHAR *word, end = ' ';
    SIZE_T n = 0;

    while (*line == ' ' || *line == '\t')
        line++;
    if (*line == '"')
    {
        end = '"';
        line++;
    }
    while (line[n] && line[n] != end && (end == '"' || line[n] != '\t'))
        n++;
    word = run_mem_alloc((n + 1) * sizeof(WCHAR));
    memcpy(word, line, n * sizeof(WCHAR));
    return word;
}

static const WCHAR *get_variable(const WCHAR *name, const WCHAR *otherwise)
{
    DWORD size = GetEnvironmentVariableW(name, NULL, 0);
    WCHAR *value;

    if (!size)
        return otherwise;
    value = run_mem_alloc(size * sizeof(WCHAR));
    GetEnvironmentVariableW(name, value, size);
    return value;
}

static BOOL is_file(const WCHAR *path)
{
    DWORD attributes = GetFileAttributesW(path);
    return attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY);
}

/*
 * next_element copies the next element of a list separated by semicolons, without quotes. It returns the rest of the
 * list, or NULL at the end.
 */
static const WCHAR *next_element(const WCHAR *list, WCHAR *element)
{
    if (!*list)
        return NULL;
    while (*list && *list != ';')
    {
        if (*list != '"')
            *element++ = *list;
        list++;
    }
    *element = 0;
    return *list ? list + 1 : list;
}

/* is_beginning returns whether the folder of path has any name that begins with the last part of path. */
static BOOL is_beginning(const WCHAR *path)
{
    WIN32_FIND_DATAW data;
    HANDLE found = FindFirstFileW(run_str_concat(path, L"*", L""), &data);

    if (found == INVALID_HANDLE_VALUE)
        return FALSE;
    FindClose(found);
    return TRUE;
}

/*
 * with_extension tries path with each extension of PATHEXT, and path itself: first if it has an extension, otherwise
 * last. Wine reads a whole folder to know that it lacks a name, so it is asked once for all extensions.
 */
static WCHAR *with_extension(const WCHAR *path)
{
    const WCHAR *pathext = get_variable(L"PATHEXT", L".COM;.EXE;.BAT;.CMD");
    WCHAR *extension = run_mem_alloc((run_str_len(pathext) + 1) * sizeof(WCHAR));
    BOOL has_extension = FALSE;

    for (const WCHAR *c = path; *c; c++)
    {
        if (*c == '.')
            has_extension = TRUE;
        if (*c == '\\')
            has_extension = FALSE;
    }
    if (has_extension && is_file(path))
        return run_str_concat(path, L"", L"");
    if (!is_beginning(path))
        return NULL;
    while ((pathext = next_element(pathext, extension)))
    {
        WCHAR *candidate = run_str_concat(path, extension, L"");
        if (*extension && is_file(candidate))
            return candidate;
    }
    return !has_extension && is_file(path) ? run_str_concat(path, L"", L"") : NULL;
}

/*
 * file_at finds the file that a name means, from the current directory on, with or without its extension; NULL: there
 * is none.
 */
static WCHAR *file_at(const WCHAR *name)
{
    enum
    {
        LONGEST = 0x8000 /* characters of a path, with its end */
    };
    WCHAR *full = run_mem_alloc(LONGEST * sizeof(WCHAR));
    DWORD length = GetFullPathNameW(name, LONGEST, full,
                                    NULL); /* for a longer one it writes nothing and returns the size needed */
    WCHAR *found = length && length < LONGEST ? with_extension(full) : NULL;

    run_mem_free(full);
    return found;
}

/*
 * run_find_program turns a program's name into the path of its file, relative to the current directory of this process.
 * A name with a folder in it is not searched for; another one is looked for in the working directory, the system
 * folders and PATH. Slashes may lean either way, and the extension may be missing. In a HostProcess container a name
 * that begins at the root is found at the root of the image too. NULL and an error if there is no such file.
 */
WCHAR *run_find_program(const WCHAR *name, DWORD *error)
{
    WCHAR *wanted = run_str_concat(name, L"", L""), *found, *folder;
    const WCHAR *path = get_variable(L"PATH", L"");
    BOOL has_folder = FALSE;

    for (WCHAR *c = wanted; *c; c++)
    {
        if (*c == '/')
            *c = '\\';
        if (*c == '\\' || *c == ':')
            has_folder = TRUE;
    }
    *error = ERROR_FILE_NOT_FOUND;
    if (!*wanted)
        return NULL;
    if (has_folder)
    {
        if ((found = file_at(wanted)))
            return found;
        /*
         * The image of a HostProcess container is not the drive: what an image has at its root is below the mount
         * point.
         */
        path = get_variable(L"CONTAINER_SANDBOX_MOUNT_POINT", L"");
        if (!*path || wanted[0] != '\\' || wanted[1] == '\\')
            return NULL;
        return file_at(run_str_concat(path, wanted, L""));
    }
    path = run_str_concat(L".;C:\\windows\\system32;C:\\windows;", path, L"");
    folder = run_mem_alloc((run_str_len(path) + 1) * sizeof(WCHAR));
    while ((path = next_element(path, folder)))
    {
        if (*folder && (found = file_at(run_str_concat(folder, L"\\", wanted))))
            return found;
    }
    return NULL;
}
