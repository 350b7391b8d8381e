/* Strings and memory without a C run-time library. */
#include "run.h"

/* The compiler emits calls to these even in freestanding code. */
void *memset(void *dst, int c, size_t n)
{
    unsigned char *p = dst;
    while (n--)
        *p++ = (unsigned char)c;
    return dst;
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
    unsigned char *d = dst;
    const unsigned char *s = src;
    while (n--)
        *d++ = *s++;
    return dst;
}

/* The heap of run_mem_alloc: the process's own, or one that is given back whole. */
static HANDLE *current_heap(void)
{
    static HANDLE heap;

    if (!heap)
        heap = GetProcessHeap();
    return &heap;
}

/*
 * run_mem_alloc never returns NULL. Little is freed, because apart from the environment the process allocates only a
 * few kilobytes, once.
 */
void *run_mem_alloc(SIZE_T bytes)
{
    void *p = HeapAlloc(*current_heap(), HEAP_ZERO_MEMORY, bytes);
    if (!p)
        ExitProcess(EXIT_NOT_STARTED);
    return p;
}

void run_mem_free(void *p)
{
    HeapFree(*current_heap(), 0, p);
}

/* run_mem_begin gives what is allocated from now on a heap of its own, and run_mem_end gives it back. */
void run_mem_begin(void)
{
    HANDLE heap = HeapCreate(0, 0, 0);

    if (!heap)
        ExitProcess(EXIT_NOT_STARTED);
    *current_heap() = heap;
}

void run_mem_end(void)
{
    HeapDestroy(*current_heap());
    *current_heap() = GetProcessHeap();
}

SIZE_T run_str_len(const WCHAR *s)
{
    SIZE_T n = 0;
    while (s[n])
        n++;
    return n;
}

void run_str_copy(WCHAR *dst, const WCHAR *src)
{
    while ((*dst++ = *src++))
    {
    }
}

WCHAR *run_str_concat(const WCHAR *a, const WCHAR *b, const WCHAR *c)
{
    SIZE_T la = run_str_len(a), lb = run_str_len(b);
    WCHAR *out = run_mem_alloc((la + lb + run_str_len(c) + 1) * sizeof(WCHAR));

    run_str_copy(out, a);
    run_str_copy(out + la, b);
    run_str_copy(out + la + lb, c);
    return out;
}

/* run_str_casecmp compares as Windows compares names: upper-cased, ordinal. */
int run_str_casecmp(const WCHAR *a, const WCHAR *b)
{
    return CompareStringOrdinal(a, -1, b, -1, TRUE) - CSTR_EQUAL;
}

BOOL run_str_case_prefix(const WCHAR *s, const WCHAR *prefix)
{
    int n = (int)run_str_len(prefix);
    return run_str_len(s) >= (SIZE_T)n && CompareStringOrdinal(s, n, prefix, n, TRUE) == CSTR_EQUAL;
}

BOOL run_str_equal(const WCHAR *a, const WCHAR *b)
{
    for (; *a && *a == *b; a++)
        b++;
    return *a == *b;
}

ULONGLONG run_str_number(const WCHAR *s, BOOL *ok)
{
    ULONGLONG n = 0;

    *ok = *s != 0;
    for (; *s; s++)
    {
        if (*s < '0' || *s > '9')
            *ok = FALSE;
        n = n * 10 + (ULONGLONG)(*s - '0');
    }
    return n;
}

WCHAR *run_str_from_number(ULONGLONG n, WCHAR out[24])
{
    WCHAR *p = out + 23;

    *p = 0;
    do
        *--p = (WCHAR)('0' + n % 10);
    while (n /= 10);
    return p;
}

/*
 * run_error_text returns Windows' own text (message table of kernel32.dll, Windows Server 2022) for errors of a start:
 * Wine's texts differ, and people search for Windows'.
 */
const WCHAR *run_error_text(DWORD error)
{
    static const struct
    {
        DWORD error;
        const WCHAR *text;
    } table[] = {
        {ERROR_FILE_NOT_FOUND, L"The system cannot find the file specified."},
        {ERROR_PATH_NOT_FOUND, L"The system cannot find the path specified."},
        {ERROR_ACCESS_DENIED, L"Access is denied."},
        {ERROR_NOT_ENOUGH_MEMORY, L"Not enough memory resources are available to process this command."},
        {ERROR_BAD_FORMAT, L"An attempt was made to load a program with an incorrect format."},
        {ERROR_INVALID_PARAMETER, L"The parameter is incorrect."},
        {ERROR_INVALID_NAME, L"The filename, directory name, or volume label syntax is incorrect."},
        {ERROR_MOD_NOT_FOUND, L"The specified module could not be found."},
        {ERROR_BAD_EXE_FORMAT, L"%1 is not a valid Win32 application."},
        {ERROR_FILENAME_EXCED_RANGE, L"The filename or extension is too long."},
        {ERROR_EXE_MACHINE_TYPE_MISMATCH,
         L"This version of %1 is not compatible with the version of Windows you're running. Check your computer's "
         "system information "
         L"and then contact the software publisher."},
        {ERROR_DIRECTORY, L"The directory name is invalid."},
        {ERROR_COMMITMENT_LIMIT, L"The paging file is too small for this operation to complete."},
    };
    WCHAR *text = NULL;

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].error == error)
            return table[i].text;
    if (!FormatMessageW(FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                            FORMAT_MESSAGE_MAX_WIDTH_MASK,
                        NULL, error, 0, (WCHAR *)(void *)&text, 0, NULL))
        return L"The program did not start.";
    return text;
}
