/* The processes of the container, for whoever asks for them from outside. */
#include "run.h"

#include <winternl.h>

#define PROCESSES 5 /* SystemProcessInformation */
#define MOST_BYTES (64u << 20)

/* SYSTEM_PROCESS_INFORMATION, of which winternl.h has less. */
struct process
{
    ULONG next, threads;
    LARGE_INTEGER private_set;
    ULONG faults, threads_peak;
    ULONGLONG cycles;
    LARGE_INTEGER created, user, kernel;
    UNICODE_STRING image;
    LONG priority;
    HANDLE id, parent;
    ULONG handles, session;
    ULONG_PTR key;
    SIZE_T virtual_peak, virtual_size;
    ULONG page_faults;
    SIZE_T set_peak, set, paged_peak, paged, nonpaged_peak, nonpaged, pagefile;
};

static struct process *all_processes(void)
{
    ULONG size = 1 << 16, needed = 0;
    struct process *all;
    NTSTATUS status;

    for (;;)
    {
        all = run_mem_alloc(size);
        status = NtQuerySystemInformation(PROCESSES, all, size, &needed);
        if (!status)
            return all;
        run_mem_free(all);
        if (status != (NTSTATUS)0xc0000004 || size >= MOST_BYTES) /* STATUS_INFO_LENGTH_MISMATCH */
            return NULL;
        size *= 2;
    }
}

static WCHAR *add_number(WCHAR *text, ULONGLONG number)
{
    WCHAR digits[24];

    return run_str_concat(text, run_str_from_number(number, digits), L" ");
}

/* The name of the program without its folder, as a string of its own. */
static WCHAR *name_of(const UNICODE_STRING *image)
{
    ULONG length = image->Length / sizeof(WCHAR), from = length;
    WCHAR *name;

    while (from && image->Buffer[from - 1] != '\\')
        from--;
    name = run_mem_alloc((length - from + 1) * sizeof(WCHAR));
    for (ULONG i = from; i < length; i++)
        name[i - from] = image->Buffer[i] < ' ' ? '?' : image->Buffer[i];
    name[length - from] = 0;
    return name;
}

/*
 * run_list_processes writes a line to the report for each process but this one: "process <id> <created> <kernel> <user>
 * <working set> <committed> <name>"; times in 100 ns, sizes in bytes.
 */
int run_list_processes(void)
{
    const struct process *p = all_processes();

    if (!p)
        return EXIT_NOT_STARTED;
    for (;; p = (const struct process *)((const BYTE *)p + p->next))
    {
        WCHAR *text = add_number(run_str_concat(L"", L"", L""), (ULONGLONG)p->created.QuadPart);

        text = add_number(text, (ULONGLONG)p->kernel.QuadPart);
        text = add_number(text, (ULONGLONG)p->user.QuadPart);
        text = add_number(text, p->set);
        text = add_number(text, p->pagefile);
        text = run_str_concat(text, name_of(&p->image), L"");
        if (p->id && (DWORD)(ULONG_PTR)p->id != GetCurrentProcessId() &&
            !run_report_line(L"process", (DWORD)(ULONG_PTR)p->id, text))
            return EXIT_NOT_STARTED;
        if (!p->next)
            return 0;
    }
}
