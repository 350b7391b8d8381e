/*
 * The limit of the memory of a container's programs together, as Windows has it with the container's job object
 * (JOB_OBJECT_LIMIT_JOB_MEMORY): an allocation above it fails, and nothing is killed.
 *
 * Each program has a limit of its own, which the kernel keeps (run/unixfile.c, run_limit_memory), and so has the
 * container, where the kernel kills. What lies between is done here: before a program commits memory, what all use is
 * summed up. The kernel counts that for each process (RssAnon of /proc/PID/status), so nothing is shared that a program
 * which is killed would have to give back, or that another could falsify. A container's /proc has its own processes
 * alone.
 *
 * What is committed and not touched is not counted, other than on Windows: what the kernel says of that (VmData) is
 * mostly Wine's, 71 MB of an idle program of Go, and no share of it can be told apart. Reading costs some 7
 * microseconds a process, so it is done once for each STEP that a program has asked for. What is SMALL is allowed until
 * SPARE is used up too, so that a program can say that it was refused. Programs that ask at the same moment may all be
 * allowed, and so may those that touch what they have later: the kernel's limit is behind.
 */
#include "commit.h"

#include <string.h>

#include "job.h"
#include "linux.h"

#define PROC "/proc"
#define STEP (4 << 20)
#define SMALL (256 << 10)
#define SPARE (16ull << 20)
#define STATUS_ROOM 2048 /* what is wanted is before that */

static LONG64 asked; /* since the container was looked at */

/* The number behind a name, which begins a line and is no part of a program's name; FALSE: there is none. */
static BOOL number_of(const char *text, const char *name, ULONGLONG *number)
{
    const char *at = strstr(text, name);

    if (!at)
        return FALSE;
    for (at += strlen(name); *at == ' ' || *at == '\t'; at++)
        ;
    if (*at < '0' || *at > '9')
        return FALSE;
    for (*number = 0; *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (ULONGLONG)(*at - '0');
    return TRUE;
}

BOOL commit_parse(ULONGLONG *bytes, const char *status)
{
    if (!number_of(status, "\nRssAnon:", bytes))
        return FALSE;
    *bytes <<= 10;
    return TRUE;
}

/* What the process of that folder of /proc uses, in bytes; one that has ended meanwhile uses nothing. */
static ULONGLONG commit_in(int proc, const char *name)
{
    ULONGLONG bytes;
    char path[32], status[STATUS_ROOM];
    SIZE_T length = strlen(name);
    INT64 size;
    int fd;

    if (length > sizeof(path) - sizeof("/status"))
        return 0;
    memcpy(path, name, length);
    memcpy(path + length, "/status", sizeof("/status"));
    if ((fd = lx_openat(proc, path, LX_O_RDONLY | LX_O_CLOEXEC)) < 0)
        return 0;
    size = lx_read(fd, status, sizeof(status) - 1);
    lx_close(fd);
    status[size > 0 ? size : 0] = 0;
    return commit_parse(&bytes, status) ? bytes : 0;
}

/* Whether a name in /proc is that of a process, other than mullion-init, which is the container's first. */
static BOOL is_program(const char *name)
{
    const char *c;

    for (c = name; *c; c++)
        if (*c < '0' || *c > '9')
            return FALSE;
    return c > name && strcmp(name, "1");
}

/* What all programs of the container use, in bytes; FALSE: it cannot be known. */
static BOOL used(ULONGLONG *sum)
{
    char listing[LINUX_LISTING / 4] __attribute__((aligned(8)));
    int got, proc = lx_openat(LX_AT_FDCWD, PROC, LX_O_RDONLY | LX_O_DIRECTORY | LX_O_CLOEXEC);

    if (proc < 0)
        return FALSE;
    *sum = 0;
    while ((got = lx_getdents(proc, listing, sizeof(listing))) > 0)
    {
        for (int at = 0; at < got;)
        {
            const struct lx_dirent *entry = (const void *)(listing + at);

            if (is_program(entry->name))
                *sum += commit_in(proc, entry->name);
            at += entry->reclen;
        }
    }
    lx_close(proc);
    return !got;
}

BOOL commit_is_too_much(SIZE_T size)
{
    ULONGLONG limit, sum;

    if (size < STEP && InterlockedExchangeAdd64(&asked, (LONG64)size) + (LONG64)size < STEP)
        return FALSE;
    InterlockedExchange64(&asked, 0);
    if (!(limit = job_memory_limit()) || !used(&sum))
        return FALSE;
    if (size < SMALL)
        limit += SPARE;
    if (sum <= limit && limit - sum >= size)
        return FALSE;
    InterlockedExchange64(&asked, STEP); /* the next is looked at again */
    return TRUE;
}
