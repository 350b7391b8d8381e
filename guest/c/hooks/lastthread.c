/* Threads as Linux counts them. */
#include "lastthread.h"

#include "linux.h"

enum
{
    LONGEST_MS = 500,
    LINKS = 2 /* of /proc/self/task, beside one for each thread (fs/proc/base.c, proc_task_getattr) */
};

BOOL last_thread_wait(void)
{
    const UINT64 last = LINKS + (lx_gettid() == lx_getpid() ? 1u : 2u);
    struct lx_stat st;

    for (int ms = 0; ms < LONGEST_MS; ms++)
    {
        if (lx_fstatat(LX_AT_FDCWD, "/proc/self/task", &st, 0) || st.nlink <= last)
            return TRUE;
        lx_poll(NULL, 0, 1);
    }
    return FALSE;
}
