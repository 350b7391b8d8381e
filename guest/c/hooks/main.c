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

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, void *reserved)
{
    unsigned version;
    HMODULE self;
    BOOL path, tables;

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
    originals_find();
    if (program_is(L"services.exe")) /* the other parts would wait for what it provides */
    {
        if (path_start())
            scm_start();
        children_start();
        return TRUE;
    }
    /*
     * Parts with a table of handles must see handles closed; parts that answer by name need Wine's translation of
     * names.
     */
    path = path_start();
    tables = path && info_start();
    if (tables && version < WINE_WITH_LINKS)
    {
        setinfo_start();
        reparse_start();
        readdir_start();
        security_start();
        open_start();
    }
    else
        services_start();
    if (path)
        volume_start();
    message_start();
    pipe_start();
    if (path)
        stdhandle_start();
    barrier_start();
    numa_start();
    if (path)
    {
        topology_start();
        session_start();
        machinekey_start();
    }
    job_start();
    priority_start();
    backup_start();
    placeholder_start();
    etw_start();
    if (tables)
    {
        token_start();
        stream_start();
    }
    libraries_start(tables);
    children_start();
    return TRUE;
}
