/* Connections: their numbers, their times, and their end. */
#include "core.h"

#include <string.h>

enum
{
    PLACES = 1 << 20, /* of connections at a time */
    DEFAULT_S = 120,  /* of all of http.sys' times */
};

static struct connection **table;
static uint32_t table_size, last_place;

void http_connection_time(struct connection *c, enum http_time time)
{
    c->deadline = GetTickCount64() + 1000ull * (c->times[time] ? c->times[time] : DEFAULT_S);
}

static bool find_place(uint32_t *place)
{
    struct connection **more;
    uint32_t size = table_size ? 2 * table_size : 64;

    for (uint32_t i = 0; i < table_size; i++)
    {
        last_place = (last_place + 1) % table_size;
        *place = last_place;
        if (!table[*place])
            return true;
    }
    if (size > PLACES || !(more = http_memory_grow(table, size * sizeof(*table))))
        return false;
    memset(more + table_size, 0, (size - table_size) * sizeof(*table));
    *place = table_size;
    table = more;
    table_size = size;
    return true;
}

struct connection *http_connection_find(uint64_t id)
{
    uint32_t place = id & (PLACES - 1);

    return id && place < table_size && table[place] && table[place]->id == id ? table[place] : NULL;
}

struct connection *http_request_find(uint64_t id)
{
    uint32_t place = id & (PLACES - 1);

    return id && place < table_size && table[place] && table[place]->request_id == id ? table[place] : NULL;
}

static void read_address(struct address *address, const SOCKADDR_STORAGE *from)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    if (from->ss_family == AF_INET6)
    {
        memcpy(address->bytes, &((const SOCKADDR_IN6 *)from)->sin6_addr, 16);
        return;
    }
    memcpy(address->bytes, mapped, 12);
    memcpy(address->bytes + 12, &((const SOCKADDR_IN *)from)->sin_addr, 4);
}

/* As programs expect addresses of IPv4: not as a part of IPv6. */
static void copy_address(SOCKADDR_STORAGE *to, const SOCKADDR *from)
{
    const SOCKADDR_IN6 *six = (const SOCKADDR_IN6 *)from;
    SOCKADDR_IN four = {.sin_family = AF_INET, .sin_port = six->sin6_port};

    if (from->sa_family != AF_INET6)
        memcpy(to, from, sizeof(SOCKADDR_IN));
    else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
    {
        memcpy(&four.sin_addr, (const char *)&six->sin6_addr + 12, 4);
        memcpy(to, &four, sizeof(four));
    }
    else
        memcpy(to, from, sizeof(SOCKADDR_IN6));
}

struct connection *http_connection_new(SOCKET socket, uint16_t port, const SOCKADDR *local, const SOCKADDR *remote)
{
    struct connection *c = http_memory_new(sizeof(*c));
    BOOL on = TRUE;
    uint32_t place;

    if (!c || !find_place(&place) || !http_net_add(socket))
    {
        http_memory_free(c);
        closesocket(socket);
        return NULL;
    }
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, (const char *)&on, sizeof(on));
    c->id = http_new_id() << 20 | place;
    c->socket = socket;
    c->port = port;
    copy_address(&c->local, local);
    copy_address(&c->remote, remote);
    read_address(&c->here, &c->local);
    http_connection_time(c, HTTP_TIME_IDLE);
    table[place] = c;
    http_link_add(&http_connections, &c->all);
    return c;
}

void http_connection_forget(struct connection *c)
{
    http_link_remove(&c->waiting);
    http_finish_all(&c->readers, NO_CONNECTION);
    http_memory_free(c->text);
    http_memory_free(c->cooked.text);
    c->text = NULL;
    c->cooked.text = NULL;
    c->request_id = 0;
    c->queue = NULL;
}

void http_connection_close(struct connection *c)
{
    if (c->state == STATE_QUEUED && c->queue)
        c->queue->waiting_count--;
    c->state = STATE_CLOSED;
    closesocket(c->socket);
    http_finish_all(&c->waiters, DONE);
    http_connection_forget(c);
    http_block_drop(c, NO_CONNECTION);
}

void http_connection_abort(struct connection *c)
{
    LINGER hard = {.l_onoff = 1, .l_linger = 0};

    if (c->state == STATE_CLOSED)
        return;
    setsockopt(c->socket, SOL_SOCKET, SO_LINGER, (const char *)&hard, sizeof(hard));
    http_connection_close(c);
}

void http_connection_free(struct connection *c)
{
    http_link_remove(&c->all);
    table[c->id & (PLACES - 1)] = NULL;
    http_memory_free(c->in);
    http_memory_free(c);
}

void http_connection_number(struct connection *c)
{
    c->request_id = http_new_id() << 20 | (c->id & (PLACES - 1));
}
