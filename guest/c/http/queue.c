/* Request queues. */
#include "core.h"

enum
{
    MOST_WAITING = 1000, /* http.sys' default of HttpServerQueueLengthProperty */
};

int http_queue_new(struct file *file, uint32_t version)
{
    struct queue *queue;

    if (file->queue || version < 1 || version > 2)
        return WRONG_PARAMETER;
    queue = http_memory_new(sizeof(*queue));
    if (!queue)
        return NO_MEMORY;
    queue->file = file;
    queue->id = http_new_id();
    queue->version = version;
    queue->most = MOST_WAITING;
    http_link_init(&queue->waiting);
    http_link_add(&http_queues, &queue->all);
    file->queue = queue;
    return DONE;
}

struct queue *http_queue_find(uint64_t id)
{
    for (struct link *at = http_queues.next; at != &http_queues; at = at->next)
    {
        struct queue *queue = CONTAINING_RECORD(at, struct queue, all);

        if (queue->id == id)
            return queue;
    }
    return NULL;
}

int http_queue_property(struct queue *queue, struct http_property *property, bool set)
{
    switch (property->id)
    {
    case HTTP_PROPERTY_STATE:
        if (set)
            queue->inactive = property->value != 0;
        property->value = queue->inactive;
        return DONE;
    case HTTP_PROPERTY_LENGTH:
        if (set && !property->value)
            return WRONG_PARAMETER;
        if (set)
            queue->most = (uint32_t)property->value;
        property->value = queue->most;
        return DONE;
    default: return WRONG_PARAMETER;
    }
}

void http_queue_shut(struct queue *queue)
{
    queue->shut = true;
    http_finish_all(&queue->receivers, END_OF_FILE);
}

int http_queue_request(struct connection *c)
{
    struct queue *queue = c->queue;

    if (!queue || queue->inactive || queue->shut || queue->waiting_count >= queue->most)
        return 503;
    c->state = STATE_QUEUED;
    http_connection_time(c, HTTP_TIME_QUEUE);
    queue->waiting_count++;
    http_link_add(&queue->waiting, &c->waiting);
    http_queue_deliver(queue);
    return 0;
}

void http_queue_deliver(struct queue *queue)
{
    while (queue->receivers && queue->waiting.next != &queue->waiting)
    {
        struct connection *c = CONTAINING_RECORD(queue->waiting.next, struct connection, waiting);

        http_link_remove(&c->waiting);
        queue->waiting_count--;
        c->state = STATE_TAKEN;
        c->deadline = 0;
        http_deliver(c, http_take(&queue->receivers));
    }
}
