/*
 * mullion-run.exe: starts one Windows program in a container, as a Windows container runtime would, and reports its
 * fate.
 *
 * No C run-time library is linked, because the process lives as long as the container and every library would take
 * memory all that time. Strings are UTF-16 in memory and UTF-8 in files.
 */
#ifndef MULLION_RUN_H
#define MULLION_RUN_H

#include <windows.h>

/*
 * Exit codes of mullion-run.exe itself, used when no program ran; the report file distinguishes them from a
 * program's own.
 */
enum
{
    EXIT_USAGE = 125,       /* the options make no sense */
    EXIT_NOT_STARTED = 126, /* the program was found and Windows would not start it */
    EXIT_NOT_FOUND = 127,   /* there is no such program */
};

/* What the command line asks for. Pointers point into memory that lives as long as the process. */
struct options
{
    const WCHAR *cwd;         /* working directory, a Windows path; NULL: C:\ */
    const WCHAR *env_file;    /* Unix path of NUL-separated NAME=value in UTF-8, or NULL */
    const WCHAR *report_file; /* Unix path the report lines are written to, or NULL */
    const WCHAR *hook;        /* Windows path of the library to load into the program; NULL: none */
    const WCHAR *dns_search;  /* DNS suffixes, separated by commas, or NULL */
    WCHAR *pipes;             /* command line of the program that has the container's mounted pipes, or NULL */
    const WCHAR *ctrl;        /* name of a control event to deliver instead of starting a program, or NULL */
    ULONGLONG memory_limit;   /* bytes of private memory the program may commit; 0: no limit */
    int debug_fd;             /* Linux descriptor that gets Wine's diagnostic lines of the program; 0: nobody does */
    ULONGLONG affinity;       /* the processors to give to all programs instead of starting one; 0: none */
    DWORD pid;                /* with ctrl: only this process; 0: all programs */
    BOOL processes;           /* write all processes to the report instead of starting a program */
    BOOL services;            /* start Wine's services instead of a program */
    DWORD end_services;       /* end the services within these milliseconds instead of starting a program; 0: do not */
    int serve;                /* Linux descriptor of a socket that says which programs to start; 0: none */
    BOOL first;               /* this process has booted the prefix */
    BOOL raw;                 /* argv[0] is a whole command line */
    int argc;                 /* the program and its arguments */
    WCHAR **argv;
};

/* text.c: strings and memory */
void *run_mem_alloc(SIZE_T bytes);
void run_mem_free(void *p);
void run_mem_begin(void);
void run_mem_end(void);
SIZE_T run_str_len(const WCHAR *s);
void run_str_copy(WCHAR *dst, const WCHAR *src);
WCHAR *run_str_concat(const WCHAR *a, const WCHAR *b, const WCHAR *c);
int run_str_casecmp(const WCHAR *a, const WCHAR *b);
BOOL run_str_case_prefix(const WCHAR *s, const WCHAR *prefix);
BOOL run_str_equal(const WCHAR *a, const WCHAR *b);
ULONGLONG run_str_number(const WCHAR *s, BOOL *ok);
WCHAR *run_str_from_number(ULONGLONG n, WCHAR out[24]);
const WCHAR *run_error_text(DWORD error);

/* unixfile.c: files of the container's Linux side, and raw system calls */
char *run_unix_read(const WCHAR *path, DWORD *size);
BOOL run_report_open(const WCHAR *path);
BOOL run_report_line(const WCHAR *verb, DWORD number, const WCHAR *text);
void run_report_close(void);
void run_say(const WCHAR *a, const WCHAR *b, const WCHAR *c);
void run_adopt_children(BOOL yes);
DWORD run_linux_exit_code(void);
BOOL run_forget_children(void);
LONG_PTR run_linux_call(LONG_PTR number, LONG_PTR a, LONG_PTR b, LONG_PTR c, LONG_PTR d);
void run_drop_stack(void);
void run_detach_stdio(void);
void run_keep_descriptors(void);
void run_send_debug_to(int fd);
void run_make_terminal_raw(void);
char *run_find_variable(const char *name, int length);
BOOL run_terminal_size(COORD *size);
BOOL run_limit_memory(ULONGLONG bytes);

/* args.c: splitting and joining command lines, and finding a program as Windows does */
int run_split_command_line(const WCHAR *line, WCHAR ***argv);
WCHAR *run_join_command_line(int argc, WCHAR **argv);
WCHAR *run_find_program(const WCHAR *name, DWORD *error);
WCHAR *run_first_word(const WCHAR *line);

/* boot.c: the part of wineboot.exe's work at the first start of a prefix that a container needs */
BOOL run_boot_prefix(void);
void run_set_dns_search(const WCHAR *list);

/* env.c */
void run_set_own_environment(void);
void run_apply_environment(const WCHAR *env_file);
WCHAR *run_keep_environment(SIZE_T *bytes);
void run_restore_environment(const WCHAR *kept, SIZE_T bytes);

/* options.c */
int run_usage(const WCHAR *problem, const WCHAR *what);
int run_take_options(struct options *opt, int argc, WCHAR **argv);

/* serve.c */
int run_serve(int socket);

/* start.c, ctrl.c */
int run_one(const struct options *opt);
int run_refuse(const WCHAR *what, DWORD error);
int run_send_ctrl(const struct options *opt);
BOOL run_load_hook(HANDLE process, void *room, const WCHAR *hook, DWORD *error);
BOOL run_prepare_child(HANDLE process, const WCHAR *hook, DWORD *error);

/* pipes.c */
BOOL run_start_pipes(WCHAR *line);

/* affinity.c */
int run_spread_affinity(const struct options *opt);

/* list.c */
int run_list_processes(void);

/* services.c, svcauto.c, svcend.c */
int run_start_services(const WCHAR *hook);
void run_start_automatic_services(void);
BOOL run_is_service(DWORD pid);
void run_tell_services(void);
int run_end_services(DWORD limit);

/* resize.c */
void run_wait_for(HANDLE process);

#endif
