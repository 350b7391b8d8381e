/* The lock, the lists under it, and the operations that are answered when it is left. */
#include "core.h"

struct link http_queues, http_connections, http_urls;

static CRITICAL_SECTION section;
static struct operation *finished, **last_finished = &finished;

void http_link_init(struct link *head)
{
    head->next = head->previous = head;
}

void http_link_add(struct link *head, struct link *element)
{
    element->next = head;
    element->previous = head->previous;
    head->previous->next = element;
    head->previous = element;
}

void http_link_remove(struct link *element)
{
    if (!element->next)
        return;
    element->previous->next = element->next;
    element->next->previous = element->previous;
    element->next = element->previous = NULL;
}

void http_lock(void)
{
    EnterCriticalSection(&section);
}

void http_unlock(void)
{
    struct operation *op = finished, *next;

    finished = NULL;
    last_finished = &finished;
    LeaveCriticalSection(&section);
    for (; op; op = next)
    {
        next = op->next;
        http_irp_complete(op);
    }
}

static void put_aside(struct operation *op)
{
    op->next = NULL;
    *last_finished = op;
    last_finished = &op->next;
}

void http_finish(struct operation *op, int result, uint64_t length)
{
    op->list = NULL;
    op->block = NULL;
    op->result = result;
    op->length = length;
    if (http_irp_claim(op))
        put_aside(op);
    else
        op->yielded = 1;
}

void http_append(struct operation **list, struct operation *op)
{
    op->list = list;
    op->next = NULL;
    while (*list)
        list = &(*list)->next;
    *list = op;
}

struct operation *http_take(struct operation **list)
{
    struct operation *op = *list;

    if (op)
    {
        *list = op->next;
        op->list = NULL;
    }
    return op;
}

void http_finish_all(struct operation **list, int result)
{
    struct operation *op;

    while ((op = http_take(list)))
        http_finish(op, result, 0);
}

void http_cancel(struct operation *op)
{
    http_lock();
    if (!op->yielded)
    {
        if (op->list)
            for (struct operation **at = op->list; *at; at = &(*at)->next)
                if (*at == op)
                {
                    *at = op->next;
                    break;
                }
        if (op->block)
            op->block->op = NULL; /* what it was to send is sent */
        op->result = CANCELLED;
        op->length = 0;
    }
    put_aside(op);
    http_unlock();
}

uint64_t http_new_id(void)
{
    static uint64_t last;

    return ++last | 0xfb00000000000000;
}

void http_operations_start(void)
{
    InitializeCriticalSection(&section);
    http_link_init(&http_queues);
    http_link_init(&http_connections);
    http_link_init(&http_urls);
}
