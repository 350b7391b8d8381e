/* Options of mullion-run.exe. */
#include "run.h"

static const WCHAR usage_text[] =
    L"usage: mullion-run.exe [--cwd DIR] [--env-file FILE] [--report FILE] [--memory-limit BYTES] [--dns-search LIST] "
    "[--debug-fd N] [--pipes COMMAND] [--hook DLL|none] [--raw] -- PROGRAM [ARGUMENT...]\r\n"
    L"       mullion-run.exe --serve FD\r\n"
    L"       mullion-run.exe --ctrl c|break|close|logoff|shutdown [--pid N]\r\n"
    L"       mullion-run.exe --affinity MASK\r\n"
    L"       mullion-run.exe --report FILE --processes\r\n"
    L"       mullion-run.exe --services\r\n"
    L"       mullion-run.exe --end-services MS";

int run_usage(const WCHAR *problem, const WCHAR *what)
{
    run_say(problem, what, run_str_concat(L"\r\n", usage_text, L""));
    return EXIT_USAGE;
}

/* take_option stores the option at argv[i] and returns how many arguments it has; 0: it is no option. */
static int take_option(struct options *opt, int argc, WCHAR **argv, int i)
{
    const WCHAR *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    BOOL ok = TRUE;

    if (run_str_equal(name, L"--raw"))
    {
        opt->raw = TRUE;
        return 1;
    }
    if (run_str_equal(name, L"--processes"))
    {
        opt->processes = TRUE;
        return 1;
    }
    if (run_str_equal(name, L"--services"))
    {
        opt->services = TRUE;
        return 1;
    }
    if (!value)
        return 0;
    if (run_str_equal(name, L"--cwd"))
        opt->cwd = *value ? value : NULL;
    else if (run_str_equal(name, L"--env-file"))
        opt->env_file = value;
    else if (run_str_equal(name, L"--report"))
        opt->report_file = value;
    else if (run_str_equal(name, L"--exit-file"))
        opt->report_file = value;
    else if (run_str_equal(name, L"--hook"))
        opt->hook = run_str_equal(value, L"none") ? NULL : value;
    else if (run_str_equal(name, L"--dns-search"))
        opt->dns_search = value;
    else if (run_str_equal(name, L"--pipes"))
        opt->pipes = argv[i + 1];
    else if (run_str_equal(name, L"--ctrl"))
        opt->ctrl = value;
    else if (run_str_equal(name, L"--memory-limit"))
        opt->memory_limit = run_str_number(value, &ok);
    else if (run_str_equal(name, L"--debug-fd"))
        opt->debug_fd = (int)run_str_number(value, &ok);
    else if (run_str_equal(name, L"--end-services"))
        opt->end_services = (DWORD)run_str_number(value, &ok);
    else if (run_str_equal(name, L"--affinity"))
        opt->affinity = run_str_number(value, &ok);
    else if (run_str_equal(name, L"--serve"))
        opt->serve = (int)run_str_number(value, &ok);
    else if (run_str_equal(name, L"--pid"))
        opt->pid = (DWORD)run_str_number(value, &ok);
    else
        return 0;
    return ok ? 2 : 0;
}

/* run_take_options stores the options, and where the program's arguments are. The result is an exit code, 0: go on. */
int run_take_options(struct options *opt, int argc, WCHAR **argv)
{
    int i = 1, taken;

    opt->hook = L"C:\\windows\\system32\\mullionhook.dll";
    while (i < argc && !run_str_equal(argv[i], L"--"))
    {
        if (!(taken = take_option(opt, argc, argv, i)))
            return run_usage(L"bad option: ", argv[i]);
        i += taken;
    }
    if (i + 1 < argc)
    {
        opt->argv = argv + i + 1;
        opt->argc = argc - i - 1;
    }
    return 0;
}
