/*
 * A barrier in every thread of the process: NtFlushProcessWriteBuffers.
 *
 * Fact (Wine 8.0 and 10.0): it does nothing. Garbage collectors (.NET, V8) rely on it where they stop other threads
 * without a lock. Linux has the same as membarrier(2), for a process that has registered for it.
 */
#include "hooks.h"
#include "linux.h"

enum
{
    EXPEDITED = 8, /* linux/membarrier.h MEMBARRIER_CMD_PRIVATE_EXPEDITED */
    REGISTER = 16, /* MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED */
    UNDECIDED = 0,
    OURS = 1,
    WINES = 2
};

static NTSTATUS(WINAPI *original_barrier)(void);
static LONG whose;

static INT64 membarrier(int command)
{
    return lx3(LX_NR_membarrier, command, 0, 0);
}

/* If Wine has a barrier, the call of it registers the process; then the barrier is left to Wine. */
static LONG decide(void)
{
    original_barrier();
    return membarrier(EXPEDITED) == -LX_EPERM && !membarrier(REGISTER) ? OURS : WINES;
}

static NTSTATUS WINAPI hook_NtFlushProcessWriteBuffers(void)
{
    LONG now = __atomic_load_n(&whose, __ATOMIC_ACQUIRE);

    if (now == UNDECIDED)
    {
        /* if two threads decide at once, the later one finds the process registered by the earlier one */
        now = decide();
        if (InterlockedCompareExchange(&whose, now, UNDECIDED) == OURS)
            now = OURS;
    }
    if (now == OURS)
        return membarrier(EXPEDITED) ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
    return original_barrier();
}

void barrier_start(void)
{
    patch_function(GetModuleHandleW(L"ntdll.dll"), "NtFlushProcessWriteBuffers", hook_NtFlushProcessWriteBuffers,
                   (void **)&original_barrier);
}
