/* Files of the container's Linux side, the report, and the few calls of the Linux kernel. */
#include "run.h"

static WCHAR *unix_path(const WCHAR *path)
{
    WCHAR *p = run_str_concat(L"\\\\?\\unix", path, L"");

    for (WCHAR *c = p; *c; c++)
        if (*c == '/')
            *c = '\\';
    return p;
}

/* run_unix_read returns a whole file of the Linux side, NUL-terminated, or NULL with the last error set. */
char *run_unix_read(const WCHAR *path, DWORD *size)
{
    HANDLE file = CreateFileW(unix_path(path), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0,
                              NULL);
    DWORD used = 0, room = 4096, got = 0;
    char *data;

    if (file == INVALID_HANDLE_VALUE)
        return NULL;
    data = run_mem_alloc(room + 1);
    /* files of /proc have no size: read until there is no more */
    while (ReadFile(file, data + used, room - used, &got, NULL) && got)
    {
        used += got;
        if (used < room)
            continue;
        char *more = run_mem_alloc(room * 2 + 1);
        memcpy(more, data, used);
        run_mem_free(data);
        data = more;
        room *= 2;
    }
    CloseHandle(file);
    *size = used;
    return data;
}

static void write_utf8(HANDLE file, const WCHAR *text)
{
    int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *bytes = run_mem_alloc((SIZE_T)n);
    DWORD done;

    WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes, n, NULL, NULL);
    WriteFile(file, bytes, (DWORD)(n - 1), &done, NULL);
    run_mem_free(bytes);
}

static HANDLE *report_handle(void)
{
    static HANDLE handle = INVALID_HANDLE_VALUE;
    return &handle;
}

/* run_report_open opens the file to which run_report_line writes. With a NULL path nothing is written. */
BOOL run_report_open(const WCHAR *path)
{
    if (!path)
        return TRUE;
    *report_handle() = CreateFileW(unix_path(path), FILE_APPEND_DATA | SYNCHRONIZE,
                                   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_ALWAYS,
                                   FILE_ATTRIBUTE_NORMAL, NULL);
    return *report_handle() != INVALID_HANDLE_VALUE;
}

/* run_report_close ends the report. */
void run_report_close(void)
{
    if (*report_handle() != INVALID_HANDLE_VALUE)
        CloseHandle(*report_handle());
    *report_handle() = INVALID_HANDLE_VALUE;
}

/*
 * run_report_line appends "<verb> <number>[ <text>]" in one write, so that a reader never sees half a line. FALSE:
 * there is no report.
 */
BOOL run_report_line(const WCHAR *verb, DWORD number, const WCHAR *text)
{
    WCHAR digits[24];
    WCHAR *line;

    if (*report_handle() == INVALID_HANDLE_VALUE)
        return FALSE;
    line = run_str_concat(verb, L" ", run_str_from_number(number, digits));
    if (*text)
        line = run_str_concat(line, L" ", text);
    write_utf8(*report_handle(), run_str_concat(line, L"\n", L""));
    return TRUE;
}

/* say writes a message to standard error. */
void run_say(const WCHAR *a, const WCHAR *b, const WCHAR *c)
{
    WCHAR *line = run_str_concat(a, b, c);
    HANDLE err = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode, done;

    line = run_str_concat(L"mullion-run: ", line, L"\r\n");
    if (GetConsoleMode(err, &mode))
        WriteConsoleW(err, line, (DWORD)run_str_len(line), &done, NULL);
    else
        write_utf8(err, line);
}

/*
 * A system call of the Linux kernel: Wine runs Windows code in an ordinary Linux process. Numbers are those of x86-64.
 */
LONG_PTR run_linux_call(LONG_PTR number, LONG_PTR a, LONG_PTR b, LONG_PTR c, LONG_PTR d)
{
    LONG_PTR result;
    register LONG_PTR r10 __asm__("r10") = d;

    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

/*
 * run_drop_stack gives back the stack pages below the caller. Wine 8 clears 960 KiB of every thread's stack before it
 * runs (ntdll, signal_start_thread), which makes them resident for nothing; fresh pages read as zero as well.
 */
void run_drop_stack(void)
{
    enum
    {
        SYS_madvise = 28,
        MADV_DONTNEED = 4,
        KEEP = 0x4000
    };
    NT_TIB *tib;
    ULONG_PTR low, high;

    __asm__("movq %%gs:0x30,%0" : "=r"(tib));
    low = ((ULONG_PTR)tib->StackLimit + 0xfff) & ~(ULONG_PTR)0xfff;
    high = ((ULONG_PTR)__builtin_frame_address(0) - KEEP) & ~(ULONG_PTR)0xfff;
    if (high > low)
        run_linux_call(SYS_madvise, (LONG_PTR)low, (LONG_PTR)(high - low), MADV_DONTNEED, 0);
}

/* number_after returns the number behind so many spaces, 0 if there is none. */
static ULONG_PTR number_after(const char *text, int spaces)
{
    ULONG_PTR number = 0;

    for (; *text && spaces; text++)
        spaces -= *text == ' ';
    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (ULONG_PTR)(*text - '0');
    return number;
}

/*
 * run_find_variable returns where the Linux environment with which this process began has the value of a variable
 * ("NAME="), if it is so long; NULL: it has not. Linux shows that memory in /proc/PID/environ, and Wine gives it to
 * the programs that this process starts (proc(5): fields 50 and 51 of stat).
 */
char *run_find_variable(const char *name, int length)
{
    enum
    {
        AFTER_NAME = 48, /* spaces between the end of field 2, which may have some itself, and field 50 */
        SYS_read = 0,
        SYS_open = 2,
        SYS_close = 3,
        O_CLOEXEC = 02000000
    };
    static const char file[] = "/proc/self/stat"; /* Wine's server would open its own */
    char stat[2048], *start, *end, *behind = NULL;
    LONG_PTR fd = run_linux_call(SYS_open, (LONG_PTR)(ULONG_PTR)file, O_CLOEXEC, 0, 0), size;

    size = run_linux_call(SYS_read, fd, (LONG_PTR)(ULONG_PTR)stat, sizeof(stat) - 1, 0);
    run_linux_call(SYS_close, fd, 0, 0, 0);
    stat[size > 0 ? size : 0] = 0;
    for (char *c = stat; *c; c++)
        if (*c == ')')
            behind = c;
    if (!behind)
        return NULL;
    start = (char *)number_after(behind, AFTER_NAME);
    end = (char *)number_after(behind, AFTER_NAME + 1);
    while (start && start < end)
    {
        char *at = start;
        const char *n = name;

        while (at < end && *n && *at == *n)
            at++, n++;
        if (!*n)
        {
            int count = 0;

            while (at + count < end && at[count])
                count++;
            return count == length ? at : NULL;
        }
        while (start < end && *start)
            start++;
        start++;
    }
    return NULL;
}

/*
 * run_limit_memory bounds the memory that each program may commit: beyond it VirtualAlloc fails, as at the commit limit
 * of a Windows job. RLIMIT_DATA counts private writable pages, touched or not, so it is a commit limit; it applies to
 * each process by itself, and hooks/commit.c holds their sum to the limit. Wine's own share is added to it: 10 MiB for
 * an idle process and 2 to 3 MiB for each thread, whose whole stacks count here (measured with Wine 8.0; a Go program
 * of 4 threads has 34 MB where Windows counts 9). It returns FALSE if the kernel refuses.
 */
BOOL run_limit_memory(ULONGLONG bytes)
{
    enum
    {
        SYS_prlimit64 = 302,
        RLIMIT_DATA = 2
    };
    const ULONGLONG overhead = 64ull << 20;
    ULONGLONG limit[2] = {bytes + overhead, bytes + overhead};

    return run_linux_call(SYS_prlimit64, 0, RLIMIT_DATA, (LONG_PTR)(ULONG_PTR)limit, 0) == 0;
}

/*
 * run_adopt_children says whether this process becomes the Linux parent of a program that it starts. Wine starts
 * programs by a process between, which ends at once; the program would be a child of the container's first process, and
 * only that would learn how it ended (prctl(2), PR_SET_CHILD_SUBREAPER).
 */
void run_adopt_children(BOOL yes)
{
    enum
    {
        SYS_prctl = 157,
        PR_SET_CHILD_SUBREAPER = 36
    };

    run_linux_call(SYS_prctl, PR_SET_CHILD_SUBREAPER, yes, 0, 0);
}

/*
 * run_forget_children waits for the programs that this process has adopted to end as Linux processes. FALSE: one has
 * not within two seconds.
 */
BOOL run_forget_children(void)
{
    enum
    {
        SYS_wait4 = 61,
        WNOHANG = 1,
        TRIES = 1000
    };
    int status = 0;

    for (int i = 0; i < TRIES;)
    {
        LONG_PTR pid = run_linux_call(SYS_wait4, -1, (LONG_PTR)(ULONG_PTR)&status, WNOHANG, 0);
        if (pid < 0)
            return TRUE; /* there is none */
        if (pid > 0)
            continue;
        Sleep(2);
        i++;
    }
    return FALSE;
}

/*
 * run_linux_exit_code tells how the program, which Wine says has ended, ended as a Linux process: 128 and the signal's
 * number if one killed it, for lack of memory for example. To Wine that is an end with exit code 0. It is 0 if the
 * program is not seen to end within two seconds.
 */
DWORD run_linux_exit_code(void)
{
    enum
    {
        SYS_wait4 = 61,
        WNOHANG = 1,
        TRIES = 1000
    };
    int status = 0;

    for (int i = 0; i < TRIES; i++)
    {
        LONG_PTR pid = run_linux_call(SYS_wait4, -1, (LONG_PTR)(ULONG_PTR)&status, WNOHANG, 0);
        if (pid < 0)
            return 0; /* no child: it was not adopted */
        if (pid > 0)
            return status & 0x7f ? 128 + (DWORD)(status & 0x7f) : (DWORD)(status >> 8 & 0xff);
        Sleep(2);
    }
    return 0;
}

/*
 * run_detach_stdio replaces this process's standard files on the Linux side by /dev/null. Wine passes them on to every
 * process that it forks, whatever handles Windows code inherits, so a service would keep open the pipes of the program
 * for which it was started.
 */
void run_detach_stdio(void)
{
    enum
    {
        SYS_open = 2,
        SYS_close = 3,
        SYS_dup2 = 33,
        O_RDWR = 2
    };
    static const char null_device[] = "/dev/null";
    LONG_PTR fd = run_linux_call(SYS_open, (LONG_PTR)(ULONG_PTR)null_device, O_RDWR, 0, 0);

    if (fd < 0)
        return;
    for (LONG_PTR target = 0; target < 3; target++)
        run_linux_call(SYS_dup2, fd, target, 0, 0);
    if (fd > 2)
        run_linux_call(SYS_close, fd, 0, 0, 0);
}

/*
 * run_keep_descriptors sees to it that the programs that this process starts have none of the descriptors that it was
 * started with, but the standard ones. Wine marks its own so; others, of whoever started this process, would stay open
 * in each program and in what it starts, and Wine's services outlive them all. The call is there from Linux 5.11 on.
 */
void run_keep_descriptors(void)
{
    enum
    {
        SYS_close_range = 436,
        CLOSE_RANGE_CLOEXEC = 4,
        FIRST = 3
    };

    run_linux_call(SYS_close_range, FIRST, (LONG_PTR)~0u, CLOSE_RANGE_CLOEXEC, 0);
}

/*
 * run_send_debug_to makes fd the place where Wine writes diagnostic lines of the programs that this process starts:
 * fixme and err of every subject, unless the container's own environment says which. Wine writes them to descriptor 2
 * of Linux, which programs inherit from program to program; a Windows program's standard error is a handle, which leads
 * elsewhere by now.
 */
void run_send_debug_to(int fd)
{
    enum
    {
        SYS_close = 3,
        SYS_dup2 = 33
    };
    static const WCHAR name[] = L"WINEDEBUG";

    if (fd < 3 || run_linux_call(SYS_dup2, fd, 2, 0, 0) < 0)
        return;
    run_linux_call(SYS_close, fd, 0, 0, 0);
    if (!GetEnvironmentVariableW(name, NULL, 0))
        SetEnvironmentVariableW(name, L"err+all,fixme+all");
}

/*
 * run_make_terminal_raw sets the terminal to the mode that Wine's console host sets when a program first reads
 * (server/console.c, Wine 8.0). Until then the Linux terminal would echo input and turn Enter into a line feed, and an
 * early answer to a prompt would arrive wrong. Ctrl+C stays a signal of the terminal, which Wine turns into an event.
 */
void run_make_terminal_raw(void)
{
    enum
    {
        SYS_ioctl = 16,
        TCGETS = 0x5401,
        TCSETS = 0x5402
    };
    /* clang-format off */
    enum { BRKINT = 2, INPCK = 020, ISTRIP = 040, ICRNL = 0400, IXON = 02000, CSIZE = 060, CS8 = 060, PARENB = 0400,
           ICANON = 2, ECHO = 010, ECHONL = 0100,
           IEXTEN = 0100000, VTIME = 5, VMIN = 6 };
    /* clang-format on */
    struct
    { /* the kernel's struct termios */
        unsigned iflag, oflag, cflag, lflag;
        unsigned char line, cc[19];
    } term;

    if (run_linux_call(SYS_ioctl, 0, TCGETS, (LONG_PTR)(ULONG_PTR)&term, 0))
        return; /* not a terminal */
    term.lflag &= ~(unsigned)(ECHO | ECHONL | ICANON | IEXTEN);
    term.iflag &= ~(unsigned)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
    term.cflag = (term.cflag & ~(unsigned)(CSIZE | PARENB)) | CS8;
    term.cc[VMIN] = 1;
    term.cc[VTIME] = 0;
    run_linux_call(SYS_ioctl, 0, TCSETS, (LONG_PTR)(ULONG_PTR)&term, 0);
}

/*
 * run_terminal_size reads the columns and rows of the terminal on standard input, 0 if the terminal has no size yet;
 * FALSE if standard input is no terminal.
 */
BOOL run_terminal_size(COORD *size)
{
    enum
    {
        SYS_ioctl = 16,
        TIOCGWINSZ = 0x5413
    };
    struct
    {
        unsigned short rows, columns, x, y;
    } window;

    if (run_linux_call(SYS_ioctl, 0, TIOCGWINSZ, (LONG_PTR)(ULONG_PTR)&window, 0))
        return FALSE;
    size->X = (SHORT)window.columns;
    size->Y = (SHORT)window.rows;
    return TRUE;
}
