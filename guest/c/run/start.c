/* Starting the program, waiting for it, and reporting how it ended. */
#include "run.h"
#include "stacks.h"
#include "zones.h"

/*
 * run_load_hook loads a library into the process before its program runs: a thread whose start routine is LoadLibraryW.
 * kernel32.dll lies at the same address in every process of a prefix. As the first thread in the process, it also does
 * the process's initialisation. room is memory of zones_spare in the process, or NULL.
 */
BOOL run_load_hook(HANDLE process, void *room, const WCHAR *hook, DWORD *error)
{
    SIZE_T size = (run_str_len(hook) + 1) * sizeof(WCHAR), done;
    BOOL roomy = room && size <= ZONES_SPARE;
    void *name = roomy ? room : VirtualAllocEx(process, NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    FARPROC load = GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "LoadLibraryW");
    DWORD module = 0;
    HANDLE thread;

    *error = ERROR_MOD_NOT_FOUND;
    if (!name || !WriteProcessMemory(process, name, hook, size, &done))
    {
        *error = GetLastError();
        return FALSE;
    }
    thread = CreateRemoteThread(process, NULL, 0, (LPTHREAD_START_ROUTINE)(void *)load, name, 0, NULL);
    if (!thread)
    {
        *error = GetLastError();
        return FALSE;
    }
    WaitForSingleObject(thread, INFINITE);
    GetExitCodeThread(thread, &module);
    CloseHandle(thread);
    if (!roomy)
        VirtualFreeEx(process, name, 0, MEM_RELEASE);
    return module != 0;
}

BOOL run_prepare_child(HANDLE process, const WCHAR *hook, DWORD *error)
{
    stacks_spare(process);
    if (!hook || GetFileAttributesW(hook) == INVALID_FILE_ATTRIBUTES)
        return TRUE;
    return run_load_hook(process, zones_spare(process), hook, error);
}

/*
 * run_refuse writes why nothing was started to the report, or without one to standard error, which is the program's.
 * The folder in which it was to start is left: this process may stay.
 */
int run_refuse(const WCHAR *what, DWORD error)
{
    const WCHAR *text = run_error_text(error);
    WCHAR digits[24];

    SetCurrentDirectoryW(L"C:\\");
    if (!run_report_line(L"failed", error, text))
        run_say(run_str_concat(L"start ", what, L": "), text,
                run_str_concat(L" (error ", run_str_from_number(error, digits), L")"));
    return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_NOT_STARTED;
}

/*
 * ignore_ctrl keeps this process alive when Ctrl+C is typed: the event is for the program, and this process waits
 * for the program's end.
 */
static BOOL WINAPI ignore_ctrl(DWORD event)
{
    (void)event;
    return TRUE;
}

static BOOL set_cwd(const WCHAR *cwd)
{
    WCHAR *path = run_str_concat(cwd, L"", L"");

    for (WCHAR *c = path; *c; c++)
        if (*c == '/')
            *c = '\\';
    return SetCurrentDirectoryW(path);
}

/* close_standard closes a standard handle of this process: only the program has that file then. */
static void close_standard(DWORD which)
{
    HANDLE handle = GetStdHandle(which);

    SetStdHandle(which, NULL);
    CloseHandle(handle);
}

static int start_program(const struct options *opt)
{
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION child;
    const WCHAR *name = opt->raw ? run_first_word(opt->argv[0]) : opt->argv[0];
    WCHAR *line = opt->raw ? opt->argv[0] : run_join_command_line(opt->argc, opt->argv), *path;
    DWORD error = 0, code = 0;
    BOOL made;

    if (!set_cwd(opt->cwd ? opt->cwd : L"C:\\"))
        return run_refuse(name, ERROR_DIRECTORY);
    if (!(path = run_find_program(name, &error)))
        return run_refuse(name, error);
    if (opt->memory_limit && !run_limit_memory(opt->memory_limit))
        return run_refuse(name, ERROR_NOT_ENOUGH_MEMORY);
    run_make_terminal_raw();
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    run_adopt_children(TRUE);
    made = CreateProcessW(path, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &startup, &child);
    error = GetLastError();
    run_adopt_children(FALSE);
    if (!made)
        return run_refuse(name, error);
    if (!run_prepare_child(child.hProcess, opt->hook, &error))
    {
        TerminateProcess(child.hProcess, EXIT_NOT_STARTED);
        CloseHandle(child.hThread);
        CloseHandle(child.hProcess);
        return run_refuse(run_str_concat(name, L" with ", opt->hook), error);
    }
    run_report_line(L"started", child.dwProcessId, L"");
    SetConsoleCtrlHandler(ignore_ctrl, TRUE);
    SetCurrentDirectoryW(L"C:\\");
    ResumeThread(child.hThread);
    if (opt->first)
        run_start_automatic_services();
    CloseHandle(child.hThread);
    close_standard(STD_INPUT_HANDLE);
    close_standard(STD_OUTPUT_HANDLE);
    run_drop_stack();
    run_wait_for(child.hProcess);
    GetExitCodeProcess(child.hProcess, &code);
    CloseHandle(child.hProcess);
    if (!code)
        code = run_linux_exit_code();
    run_report_line(L"exited", code, L"");
    SetConsoleCtrlHandler(ignore_ctrl, FALSE);
    return (int)code;
}

int run_one(const struct options *opt)
{
    if (!opt->argc)
        return run_usage(L"no program", L"");
    if (opt->raw && opt->argc != 1)
        return run_usage(L"--raw takes one argument: the command line", L"");
    if (!run_report_open(opt->report_file))
        return run_usage(L"the report cannot be written to ", opt->report_file);
    if (opt->pipes && !run_start_pipes(opt->pipes))
        return run_refuse(opt->pipes, ERROR_PIPE_NOT_CONNECTED);
    run_apply_environment(opt->env_file);
    if (opt->debug_fd)
        run_send_debug_to(opt->debug_fd);
    return start_program(opt);
}
