/*
 * Carries bytes between Linux AF_UNIX sockets and loopback TCP sockets: one thread in each process, started at the
 * first use, with one epoll.
 *
 * Half-closed connections stay half-closed on the other side; a connection ends when both directions have ended or one
 * side is gone.
 */
#include "relay.h"

#include <string.h>

#include "linux.h"
#include "heap.h"

#define ROOM 65536
#define POLL_IN 1u
#define POLL_OUT 4u
#define POLL_ERR 8u
#define POLL_HUP 16u
#define IS_LISTENER 2u /* in the low bits of an event's data; 0 and 1 are the sides of a pair */

struct lx_epoll_event
{
    UINT32 events;
    UINT64 data;
} __attribute__((packed));

/* One direction: from side i to the other. */
struct flow
{
    BYTE *buffer;
    SIZE_T start, length;
    BOOL ended; /* nothing more to read */
    BOOL shut;  /* and the other side is shut down */
};

struct pair
{
    int fd[2];
    struct flow flow[2];
    UINT32 interest[2];
    BOOL gone[2]; /* the side hung up and is out of the epoll */
    BOOL joined;  /* side 0 is in the epoll too */
    BOOL finished;
    struct pair *next; /* in the list to free */
};

static SRWLOCK lock = SRWLOCK_INIT;
static struct relay_listener *listeners;
static int epoll = -1;

void relay_loopback(struct lx_in *address, USHORT port)
{
    memset(address, 0, sizeof(*address));
    address->family = LX_AF_INET;
    address->port = port;
    address->address = 0x0100007f; /* 127.0.0.1 in network order */
}

static void watch(int operation, int fd, UINT32 events, UINT64 data)
{
    struct lx_epoll_event event = {events, data};

    lx_epoll_ctl(epoll, operation, fd, &event);
}

/*
 * Closes a descriptor that is watched, or was. Closing alone does not end the watch while a program that is being
 * started has a copy (epoll(7)): an event would come for memory that is used for something else by then.
 */
static void close_watched(int fd)
{
    watch(2 /* EPOLL_CTL_DEL */, fd, 0, 0);
    lx_close(fd);
}

/* Moves as many bytes as possible from side i to the other; FALSE: the connection is broken. */
static BOOL move(struct pair *pair, int i)
{
    struct flow *flow = &pair->flow[i];
    INT64 n;

    for (;;)
    {
        if (!flow->length && !flow->ended)
        {
            flow->start = 0;
            n = lx_read(pair->fd[i], flow->buffer, ROOM);
            if (n == -LX_EAGAIN || n == -LX_EINTR)
                return TRUE;
            if (n < 0)
                return FALSE;
            flow->length = (SIZE_T)n;
            flow->ended = n == 0;
        }
        if (!flow->length)
            break;
        n = lx_send(pair->fd[1 - i], flow->buffer + flow->start, flow->length);
        if (n == -LX_EAGAIN || n == -LX_EINTR || n == -115 /* EINPROGRESS */)
            return TRUE;
        if (n < 0)
            return FALSE;
        flow->start += (SIZE_T)n;
        flow->length -= (SIZE_T)n;
    }
    if (!flow->shut)
        lx_shutdown(pair->fd[1 - i], 1 /* SHUT_WR */);
    flow->shut = TRUE;
    return TRUE;
}

static void update(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
    {
        UINT32 want = 0;

        if (!pair->flow[i].ended && !pair->flow[i].length)
            want |= POLL_IN;
        if (pair->flow[1 - i].length)
            want |= POLL_OUT;
        if (!pair->gone[i] && want != pair->interest[i])
            watch(3 /* EPOLL_CTL_MOD */, pair->fd[i], want, (UINT64)(UINT_PTR)pair | (UINT64)i);
        pair->interest[i] = want;
    }
}

static void serve_pair(struct pair *pair, int side, UINT32 events)
{
    BOOL good;

    if (!pair->joined)
    {
        pair->joined = TRUE;
        pair->interest[0] = POLL_IN;
        watch(1 /* EPOLL_CTL_ADD */, pair->fd[0], POLL_IN, (UINT64)(UINT_PTR)pair);
    }
    good = move(pair, 0) & move(pair, 1);
    if (events & (POLL_ERR | POLL_HUP))
    {
        /* The side accepts nothing more; what it has sent still goes to the other side. */
        if (pair->flow[side].ended || (events & POLL_ERR))
        {
            watch(2 /* EPOLL_CTL_DEL */, pair->fd[side], 0, 0);
            pair->gone[side] = TRUE;
        }
        if (pair->gone[side] && !pair->flow[side].length)
            good = FALSE;
    }
    if (pair->gone[0] && !pair->flow[0].length)
        good = FALSE;
    if (pair->gone[1] && !pair->flow[1].length)
        good = FALSE;
    if (!good || (pair->flow[0].shut && pair->flow[1].shut))
        pair->finished = TRUE;
    else
        update(pair);
}

static void pair_free(struct pair *pair)
{
    close_watched(pair->fd[0]);
    close_watched(pair->fd[1]);
    heap_free(pair->flow[0].buffer);
    heap_free(pair->flow[1].buffer);
    heap_free(pair);
}

/* Accepts one connection of a listener and makes the TCP connection for it. Requires the lock. */
static void take_connection(struct relay_listener *listener)
{
    int fd = lx_accept(listener->fd, NULL, NULL), tcp, size = sizeof(struct lx_in), result;
    struct lx_in address;

    if (fd < 0)
        return;
    tcp = lx_socket(LX_AF_INET, LX_SOCK_STREAM | LX_SOCK_NONBLOCK);
    relay_loopback(&address, 0);
    if (tcp >= 0 && !lx_bind(tcp, &address, sizeof(address)) && !lx_getsockname(tcp, &address, &size))
    {
        /* recorded before the program can see the connection; the oldest one that nobody has accepted is overwritten */
        listener->peers[listener->next_peer++ % RELAY_PEERS] = address.port;
        relay_loopback(&address, listener->port);
        result = lx_connect(tcp, &address, sizeof(address));
        if (!result || result == -115 /* EINPROGRESS */)
        {
            relay_join(fd, tcp);
            return;
        }
    }
    if (tcp >= 0)
        lx_close(tcp);
    if (fd >= 0)
        lx_close(fd);
}

static DWORD WINAPI relay_thread(void *unused)
{
    struct lx_epoll_event events[64];
    struct relay_listener *listener;
    struct pair *finished, *pair;
    int n;

    (void)unused;
    for (;;)
    {
        n = lx_epoll_wait(epoll, events, 64, -1);
        finished = NULL;
        for (int i = 0; i < n; i++)
        {
            UINT_PTR data = (UINT_PTR)events[i].data;

            if (data & IS_LISTENER)
            {
                AcquireSRWLockExclusive(&lock);
                for (listener = listeners; listener; listener = listener->next)
                    if ((UINT_PTR)listener == (data & ~(UINT_PTR)3))
                        break;
                if (listener)
                    take_connection(listener);
                ReleaseSRWLockExclusive(&lock);
                continue;
            }
            pair = (struct pair *)(data & ~(UINT_PTR)3);
            if (pair->finished)
                continue;
            serve_pair(pair, (int)(data & 1), events[i].events);
            if (pair->finished)
            {
                pair->next = finished;
                finished = pair;
            }
        }
        for (; finished; finished = pair)
        {
            pair = finished->next;
            pair_free(finished);
        }
    }
    return 0;
}

static BOOL start(void)
{
    static SRWLOCK starting = SRWLOCK_INIT;
    HANDLE thread;
    int fd;

    AcquireSRWLockExclusive(&starting);
    if (epoll < 0 && (fd = lx_epoll_create()) >= 0)
    {
        epoll = fd;
        if ((thread = CreateThread(NULL, 0x10000, relay_thread, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL)))
            CloseHandle(thread);
        else
        {
            lx_close(fd);
            epoll = -1;
        }
    }
    ReleaseSRWLockExclusive(&starting);
    return epoll >= 0;
}

BOOL relay_listen(struct relay_listener *listener)
{
    if (!start())
        return FALSE;
    AcquireSRWLockExclusive(&lock);
    listener->next = listeners;
    listeners = listener;
    ReleaseSRWLockExclusive(&lock);
    watch(1 /* EPOLL_CTL_ADD */, listener->fd, POLL_IN, (UINT64)(UINT_PTR)listener | IS_LISTENER);
    return TRUE;
}

void relay_unlisten(struct relay_listener *listener)
{
    struct relay_listener **link;

    AcquireSRWLockExclusive(&lock);
    for (link = &listeners; *link && *link != listener; link = &(*link)->next)
        ;
    if (*link)
        *link = listener->next;
    if (listener->fd >= 0)
        close_watched(listener->fd);
    listener->fd = -1;
    ReleaseSRWLockExclusive(&lock);
}

BOOL relay_is_peer(struct relay_listener *listener, USHORT port)
{
    BOOL found = FALSE;

    AcquireSRWLockExclusive(&lock);
    for (unsigned i = 0; i < RELAY_PEERS && !found; i++)
    {
        if (listener->peers[i] != port)
            continue;
        listener->peers[i] = 0;
        found = TRUE;
    }
    ReleaseSRWLockExclusive(&lock);
    return found;
}

BOOL relay_join(int a, int b)
{
    static const int yes = 1;
    struct pair *pair = start() ? heap_alloc(sizeof(*pair)) : NULL;

    if (pair)
    {
        pair->flow[0].buffer = heap_alloc(ROOM);
        pair->flow[1].buffer = heap_alloc(ROOM);
    }
    if (!pair || !pair->flow[0].buffer || !pair->flow[1].buffer)
    {
        if (pair)
        {
            heap_free(pair->flow[0].buffer);
            heap_free(pair->flow[1].buffer);
            heap_free(pair);
        }
        lx_close(a);
        lx_close(b);
        return FALSE;
    }
    pair->fd[0] = a;
    pair->fd[1] = b;
    for (int i = 0; i < 2; i++)
    {
        lx_set_flags(pair->fd[i], LX_SOCK_NONBLOCK);
        lx_setsockopt(pair->fd[i], 6 /* IPPROTO_TCP */, 1 /* TCP_NODELAY */, &yes,
                      sizeof(yes)); /* refused by AF_UNIX, which has no delay */
    }
    /*
     * Side 1 is writable as soon as it is connected; the thread adds side 0 then, so nobody else touches the pair from
     * here on.
     */
    pair->interest[1] = POLL_IN | POLL_OUT;
    watch(1 /* EPOLL_CTL_ADD */, b, POLL_IN | POLL_OUT, (UINT64)(UINT_PTR)pair | 1);
    return TRUE;
}
