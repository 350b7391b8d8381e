/* What mullion-run.exe does. */
#include "run.h"

static int run(void)
{
    struct options opt = {0};
    WCHAR **argv;
    int argc = run_split_command_line(GetCommandLineW(), &argv), problem = run_take_options(&opt, argc, argv);

    if (problem)
        return problem;
    run_keep_descriptors();
    SetEnvironmentVariableW(
        L"TZ", NULL); /* it is for Wine's server, which runs by now; a container's own comes with its variables */
    opt.first = run_boot_prefix();
    run_set_dns_search(opt.dns_search);
    if (opt.ctrl)
        return run_send_ctrl(&opt);
    if (opt.affinity)
        return run_spread_affinity(&opt);
    if (opt.services)
        return run_start_services(opt.hook);
    if (opt.end_services)
        return run_end_services(opt.end_services);
    if (opt.processes)
        return run_report_open(opt.report_file) ? run_list_processes() : EXIT_NOT_STARTED;
    if (opt.serve)
        return run_serve(opt.serve);
    run_set_own_environment();
    return run_one(&opt);
}

/* The process starts here. */
void run_entry(void)
{
    ExitProcess((UINT)run());
}
