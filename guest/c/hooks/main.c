/*
 * mullionhook.dll: closes gaps in the Windows API of Wine 8.0, inside the process that loads it.
 *
 * It is loaded by bcryptprimitives.dll, which Go and Rust programs load before main, and by the launcher (guest/c/run)
 * into all other programs. Loading it twice changes nothing. It patches functions in memory, each only if its code has
 * a known form (patch.c) or it answers as the known one does. The functions that make links of files and answers about
 * them are patched only in a Wine without links of its own; in the others Wine's own answer comes first.
 */
#include "ctrlexit.h"
#include "hooks.h"
#include "libraries.h"
#include "path.h"
#include "program.h"
#include "scm.h"
#include "stream.h"
#include "zones.h"

#define WINE_WITH_LINKS 1020 /* 10.20 is the first whose CreateSymbolicLinkW makes a link */

typedef const char *(CDECL *get_version)(void);

/* Wine's version as major * 100 + minor; 0: this is Windows. */
static unsigned wine_version(void)
{
    get_version version = (void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version");
    unsigned major = 0, minor = 0;
    const char *p;

    if (!version)
        return 0;
    for (p = version(); *p >= '0' && *p <= '9'; p++)
        major = major * 10 + (unsigned)(*p - '0');
    for (p += *p == '.'; *p >= '0' && *p <= '9'; p++)
        minor = minor * 10 + (unsigned)(*p - '0');
    return major * 100 + minor;
}

/* The version of this interface, for tests and for programs that want to know whether the hooks are loaded. */
DWORD WINAPI MullionHookVersion(void)
{
    return 1;
}

/* Where a part is started. */
enum
{
    SERVICES_EXE = 1, /* in the service control manager: the other parts would wait for what it provides */
    PROGRAMS = 2,     /* in all others */
    NO_LINKS = 4      /* in those, if this Wine has no links of its own */
};

enum
{
    PATH,
    SCM,
    INFO,
    SETINFO,
    REPARSE,
    READDIR,
    SECURITY,
    OPEN,
    SERVICES,
    VOLUME,
    MESSAGE,
    PIPE,
    STDHANDLE,
    BARRIER,
    NUMA,
    TOPOLOGY,
    SESSION,
    MACHINEKEY,
    JOB,
    PRIORITY,
    BACKUP,
    PLACEHOLDER,
    ETW,
    TOKEN,
    STREAM,
    LIBRARIES,
    CONHOST,
    CHILDREN,
    ENDING,
    GOSUSPEND,
    PARTS
};

#define BIT(part) (1u << (part))

/* The parts that work. */
static UINT32 working;

static void start_libraries(void)
{
    libraries_start((working & BIT(INFO)) != 0);
}

/*
 * The parts, in the order in which they are started. Those with a table of handles must see handles closed, which is
 * INFO's; those that answer by name need Wine's translation of names, which is PATH's.
 */
static const struct part
{
    unsigned where;
    void (*start)(void);
    BOOL (*try)(void); /* in place of start; FALSE: it does not work here */
    UINT32 needs;      /* parts that work, or it is left out */
    UINT32 after;      /* parts that have had their turn, whether they work or not */
    UINT32 instead;    /* of parts: if they work, it is left out */
} parts[PARTS] = {
    /* clang-format off */
    [PATH]        = {SERVICES_EXE | PROGRAMS, .try = path_start},
    [SCM]         = {SERVICES_EXE, scm_start, .needs = BIT(PATH)},
    [INFO]        = {PROGRAMS, .try = info_start, .needs = BIT(PATH)},
    [SETINFO]     = {NO_LINKS, setinfo_start, .needs = BIT(INFO)},
    [REPARSE]     = {NO_LINKS, reparse_start, .needs = BIT(INFO)},
    [READDIR]     = {NO_LINKS, readdir_start, .needs = BIT(INFO)},
    [SECURITY]    = {NO_LINKS, security_start, .needs = BIT(INFO)},
    [OPEN]        = {NO_LINKS, open_start, .needs = BIT(INFO)},
    [SERVICES]    = {PROGRAMS, services_start, .instead = BIT(OPEN)},
    [VOLUME]      = {PROGRAMS, volume_start, .needs = BIT(PATH)},
    [MESSAGE]     = {PROGRAMS, message_start},
    [PIPE]        = {PROGRAMS, pipe_start},
    [STDHANDLE]   = {PROGRAMS, stdhandle_start, .needs = BIT(PATH), .after = BIT(SETINFO) | BIT(REPARSE)}, /* ask it */
    [BARRIER]     = {PROGRAMS, barrier_start},
    [NUMA]        = {PROGRAMS, numa_start},
    [TOPOLOGY]    = {PROGRAMS, topology_start, .needs = BIT(PATH)},
    [SESSION]     = {PROGRAMS, session_start, .needs = BIT(PATH)},
    [MACHINEKEY]  = {PROGRAMS, machinekey_start, .needs = BIT(PATH), .after = BIT(SESSION)}, /* which opens a key */
    [JOB]         = {PROGRAMS, job_start},
    [PRIORITY]    = {PROGRAMS, priority_start},
    [BACKUP]      = {PROGRAMS, backup_start},
    [PLACEHOLDER] = {PROGRAMS, placeholder_start},
    [ETW]         = {PROGRAMS, etw_start},
    [TOKEN]       = {PROGRAMS, token_start, .needs = BIT(INFO)},
    [STREAM]      = {PROGRAMS, stream_start, .needs = BIT(INFO)},
    [LIBRARIES]   = {PROGRAMS, start_libraries, .after = BIT(INFO)},
    [CONHOST]     = {PROGRAMS, conhost_start},
    [CHILDREN]    = {SERVICES_EXE | PROGRAMS, children_start},
    [ENDING]      = {SERVICES_EXE | PROGRAMS, ending_start},
    [GOSUSPEND]   = {PROGRAMS, gosuspend_start},
    /* clang-format on */
};

/* Whether the part is started, and works. */
static BOOL begin(const struct part *part, unsigned where)
{
    if (!(part->where & where) || (part->needs & ~working) || (part->instead & working))
        return FALSE;
    if (part->try)
        return part->try();
    part->start();
    return TRUE;
}

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, void *reserved)
{
    unsigned version, where = PROGRAMS;
    HMODULE self;

    (void)reserved;
    if (reason != DLL_PROCESS_ATTACH)
        return TRUE;
    DisableThreadLibraryCalls(instance);
    /* never unloaded: functions point into it */
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (const WCHAR *)DllMain,
                       &self);
    if (!(version = wine_version()))
        return TRUE;
    ctrl_exit_code(GetCurrentProcess());
    zones_answer();
    originals_find();
    if (program_is(L"services.exe"))
        where = SERVICES_EXE;
    else if (version < WINE_WITH_LINKS)
        where |= NO_LINKS;
    for (unsigned i = 0; i < PARTS; i++)
        if (begin(&parts[i], where))
            working |= BIT(i);
    return TRUE;
}
