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
    BOOL services;            /* start Wine's services instead of a program */
    DWORD end_services;       /* end the services within these milliseconds instead of starting a program; 0: do not */
    BOOL first;               /* this process has booted the prefix */
    BOOL raw;                 /* argv[0] is a whole command line */
    int argc;                 /* the program and its arguments */
    WCHAR **argv;
};

/* text.c: strings and memory */
void *mem_alloc(SIZE_T bytes);
SIZE_T str_len(const WCHAR *s);
void str_copy(WCHAR *dst, const WCHAR *src);
WCHAR *str_concat(const WCHAR *a, const WCHAR *b, const WCHAR *c);
int str_casecmp(const WCHAR *a, const WCHAR *b);
BOOL str_case_prefix(const WCHAR *s, const WCHAR *prefix);
BOOL str_equal(const WCHAR *a, const WCHAR *b);
ULONGLONG str_number(const WCHAR *s, BOOL *ok);
WCHAR *str_from_number(ULONGLONG n, WCHAR out[24]);
const WCHAR *error_text(DWORD error);

/* unixfile.c: files of the container's Linux side, and raw system calls */
char *unix_read(const WCHAR *path, DWORD *size);
BOOL report_open(const WCHAR *path);
BOOL report_line(const WCHAR *verb, DWORD number, const WCHAR *text);
void say(const WCHAR *a, const WCHAR *b, const WCHAR *c);
void adopt_children(BOOL yes);
DWORD linux_exit_code(void);
void drop_stack(void);
void detach_stdio(void);
void send_debug_to(int fd);
void make_terminal_raw(void);
BOOL terminal_size(COORD *size);
BOOL limit_memory(ULONGLONG bytes);

/* args.c: splitting and joining command lines, and finding a program as Windows does */
int split_command_line(const WCHAR *line, WCHAR ***argv);
WCHAR *join_command_line(int argc, WCHAR **argv);
WCHAR *find_program(const WCHAR *name, DWORD *error);
WCHAR *first_word(const WCHAR *line);

/* boot.c: the part of wineboot.exe's work at the first start of a prefix that a container needs */
BOOL boot_prefix(void);
void set_dns_search(const WCHAR *list);
void set_environment(const WCHAR *env_file);

/* start.c, ctrl.c */
int start_program(const struct options *opt);
int refuse(const WCHAR *what, DWORD error);
int send_ctrl(const struct options *opt);
BOOL load_hook(HANDLE process, const WCHAR *hook, DWORD *error);
BOOL prepare_child(HANDLE process, const WCHAR *hook, DWORD *error);

/* pipes.c */
BOOL start_pipes(WCHAR *line);

/* affinity.c */
int spread_affinity(const struct options *opt);

/* services.c, svcauto.c, svcend.c */
int start_services(const WCHAR *hook);
void start_automatic_services(void);
BOOL is_service(DWORD pid);
void tell_services(void);
int end_services(DWORD limit);

/* resize.c */
void wait_for(HANDLE process);

#endif
