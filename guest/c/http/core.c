/* What programs ask for, and what follows when they are gone. */
#include "core.h"

#include <http.h>
#include <string.h>

static void tick(void)
{
    http_lock();
    http_connections_tick();
    http_listen_retry();
    http_unlock();
    http_irp_tick();
}

int http_start(void)
{
    http_operations_start();
    return http_net_start(tick);
}

struct file *http_open(void)
{
    struct file *file = http_memory_new(sizeof(*file));

    if (file)
        http_link_init(&file->groups);
    return file;
}

/* Cancels what a file that is closed has in a list. */
static void cancel_of(struct operation **at, const struct file *file)
{
    while (*at)
    {
        struct operation *op = *at;

        if (op->file != file)
        {
            at = &op->next;
            continue;
        }
        *at = op->next;
        http_finish(op, CANCELLED, 0);
    }
}

/* The requests of a queue that goes: those that nobody has are refused, the others' connections end. */
static void close_queue(struct queue *queue)
{
    http_finish_all(&queue->receivers, CANCELLED);
    for (struct link *at = http_urls.next, *next; at != &http_urls; at = next)
    {
        struct url *url = CONTAINING_RECORD(at, struct url, all);

        next = at->next;
        if (!url->group && url->queue == queue)
            http_url_free(url);
        else if (url->group && url->group->queue == queue)
            url->group->queue = NULL;
    }
    for (struct link *at = http_connections.next, *next; at != &http_connections; at = next)
    {
        struct connection *c = CONTAINING_RECORD(at, struct connection, all);

        next = at->next;
        if (c->queue != queue)
            continue;
        if (c->state == STATE_QUEUED)
        {
            http_link_remove(&c->waiting);
            http_connection_refuse(c, 503, "The service is unavailable.");
        }
        else if (c->state == STATE_TAKEN)
            http_connection_abort(c);
        c->queue = NULL;
    }
    queue->file->queue = NULL;
    http_link_remove(&queue->all);
    http_memory_free(queue);
}

void http_close(struct file *file)
{
    http_lock();
    while (file->groups.next != &file->groups)
        http_group_close(file, CONTAINING_RECORD(file->groups.next, struct group, of_file)->id);
    if (file->queue)
        close_queue(file->queue);
    for (struct link *at = http_connections.next; at != &http_connections; at = at->next)
        cancel_of(&CONTAINING_RECORD(at, struct connection, all)->waiters, file);
    http_unlock();
    http_memory_free(file);
}

/* Whether the operation's input is as long as its form, and as the text after it. */
static bool has_url(const struct operation *op)
{
    const struct http_url *in = (const void *)op->buffer;

    return op->in_size >= sizeof(*in) && (op->in_size - sizeof(*in)) / sizeof(in->text[0]) >= in->length;
}

static uint64_t number_of(const struct operation *op)
{
    uint64_t id = 0;

    if (op->in_size >= sizeof(id))
        memcpy(&id, op->buffer, sizeof(id));
    return id;
}

/* A number as the operation's answer. */
static void finish_number(struct operation *op, int result, uint64_t number)
{
    if (!result && op->out_size < sizeof(number))
        result = TOO_SMALL;
    if (!result)
        memcpy(op->buffer, &number, sizeof(number));
    http_finish(op, result, result ? 0 : sizeof(number));
}

static void property(struct file *file, struct operation *op, bool of_group, bool set)
{
    struct http_property *in = (void *)op->buffer;
    int result = WRONG_PARAMETER;

    if (op->in_size < sizeof(*in) || (!set && op->out_size < sizeof(*in)))
        result = TOO_SMALL;
    else if (of_group)
        result = http_group_property(file, in, set);
    else if (file->queue)
        result = http_queue_property(file->queue, in, set);
    http_finish(op, result, result || set ? 0 : sizeof(*in));
}

static void receive(struct file *file, struct operation *op)
{
    const struct http_receive *in = (const void *)op->buffer;
    struct connection *c;

    if (!file->queue || op->in_size < sizeof(*in))
        http_finish(op, WRONG_HANDLE, 0);
    else if (op->out_size < sizeof(HTTP_REQUEST_V1))
        http_finish(op, TOO_SMALL, 0);
    else if (file->queue->shut)
        http_finish(op, END_OF_FILE, 0);
    else if (!in->id)
    {
        http_append(&file->queue->receivers, op);
        http_queue_deliver(file->queue);
    }
    else if (!(c = http_request_find(in->id)) || c->queue != file->queue || c->state != STATE_TAKEN)
        http_finish(op, WRONG_PARAMETER, 0);
    else
        http_deliver(c, op);
}

/* The connection of a request of the file's queue that a program has. */
static struct connection *taken(const struct file *file, uint64_t id)
{
    struct connection *c = http_request_find(id);

    return c && file->queue && c->queue == file->queue && c->state == STATE_TAKEN ? c : NULL;
}

static void body(struct file *file, struct operation *op)
{
    const struct http_body *in = (const void *)op->buffer;
    struct connection *c = op->in_size >= sizeof(*in) ? taken(file, in->id) : NULL;

    if (!c)
    {
        http_finish(op, NO_CONNECTION, 0);
        return;
    }
    op->flags = in->flags;
    http_append(&c->readers, op);
    http_connection_go_on(c);
}

static void cancel(struct file *file, struct operation *op)
{
    struct connection *c = taken(file, number_of(op));

    if (c)
        http_connection_abort(c);
    http_finish(op, c ? DONE : NO_CONNECTION, 0);
}

static void wait_for_end(struct operation *op)
{
    struct connection *c = http_connection_find(number_of(op));

    if (!c || c->ended || c->state >= STATE_LINGER)
        http_finish(op, NO_CONNECTION, 0);
    else
        http_append(&c->waiters, op);
}

void http_ioctl(struct operation *op)
{
    struct file *file = op->file;
    uint64_t id = 0;
    int result;

    http_lock();
    switch (op->code)
    {
    case HTTP_IOCTL_QUEUE_NEW:
        result = op->in_size < sizeof(struct http_queue_new)
                     ? TOO_SMALL
                     : http_queue_new(file, ((const struct http_queue_new *)op->buffer)->version);
        http_finish(op, result, 0);
        break;
    case HTTP_IOCTL_QUEUE_SET: property(file, op, false, true); break;
    case HTTP_IOCTL_QUEUE_GET: property(file, op, false, false); break;
    case HTTP_IOCTL_QUEUE_ID:
        finish_number(op, file->queue ? DONE : WRONG_HANDLE, file->queue ? file->queue->id : 0);
        break;
    case HTTP_IOCTL_QUEUE_SHUTDOWN:
        if (file->queue)
            http_queue_shut(file->queue);
        http_finish(op, file->queue ? DONE : WRONG_HANDLE, 0);
        break;
    case HTTP_IOCTL_GROUP_NEW:
        result = http_group_new(file, &id);
        finish_number(op, result, id);
        break;
    case HTTP_IOCTL_GROUP_CLOSE: http_finish(op, http_group_close(file, number_of(op)), 0); break;
    case HTTP_IOCTL_GROUP_SET: property(file, op, true, true); break;
    case HTTP_IOCTL_GROUP_GET: property(file, op, true, false); break;
    case HTTP_IOCTL_ADD_URL:
        http_finish(op, has_url(op) ? http_url_add(file, (const void *)op->buffer) : WRONG_PARAMETER, 0);
        break;
    case HTTP_IOCTL_REMOVE_URL:
        http_finish(op, has_url(op) ? http_url_remove(file, (const void *)op->buffer) : WRONG_PARAMETER, 0);
        break;
    case HTTP_IOCTL_RECEIVE: receive(file, op); break;
    case HTTP_IOCTL_BODY: body(file, op); break;
    case HTTP_IOCTL_SEND: http_respond(file, op); break;
    case HTTP_IOCTL_CANCEL: cancel(file, op); break;
    case HTTP_IOCTL_WAIT: wait_for_end(op); break;
    default: http_finish(op, NOT_SUPPORTED, 0); break;
    }
    http_unlock();
}
