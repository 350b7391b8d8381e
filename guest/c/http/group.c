/* URL groups, and the URLs that are registered in them or in queues. */
#include "core.h"

#include <string.h>

static struct group *find(const struct file *file, uint64_t id)
{
    for (struct link *at = file->groups.next; at != &file->groups; at = at->next)
    {
        struct group *group = CONTAINING_RECORD(at, struct group, of_file);

        if (group->id == id)
            return group;
    }
    return NULL;
}

int http_group_new(struct file *file, uint64_t *id)
{
    struct group *group = http_memory_new(sizeof(*group));

    if (!group)
        return NO_MEMORY;
    *id = group->id = http_new_id();
    http_link_add(&file->groups, &group->of_file);
    return DONE;
}

/* Removes all URLs of a group, or of a queue; the number of them. */
static unsigned remove_all(const struct group *group, const struct queue *queue)
{
    unsigned n = 0;

    for (struct link *at = http_urls.next, *next; at != &http_urls; at = next)
    {
        struct url *url = CONTAINING_RECORD(at, struct url, all);

        next = at->next;
        if (url->group != group || (!group && url->queue != queue))
            continue;
        http_url_free(url);
        n++;
    }
    return n;
}

int http_group_close(struct file *file, uint64_t id)
{
    struct group *group = find(file, id);

    if (!group)
        return WRONG_PARAMETER;
    remove_all(group, NULL);
    http_link_remove(&group->of_file);
    http_memory_free(group);
    return DONE;
}

int http_group_property(struct file *file, struct http_property *property, bool set)
{
    struct group *group = find(file, property->group);
    struct queue *queue = NULL;

    if (!group)
        return WRONG_PARAMETER;
    switch (property->id)
    {
    case HTTP_PROPERTY_STATE:
        if (set)
            group->inactive = property->value != 0;
        property->value = group->inactive;
        return DONE;
    case HTTP_PROPERTY_BINDING:
        if (set && property->value && !(queue = http_queue_find(property->value)))
            return WRONG_HANDLE;
        if (set)
            group->queue = queue;
        property->value = group->queue ? group->queue->id : 0;
        return DONE;
    case HTTP_PROPERTY_TIMES:
        if (set)
            memcpy(group->times, property->times, sizeof(group->times));
        if (set)
            group->rate = property->rate;
        memcpy(property->times, group->times, sizeof(group->times));
        property->rate = group->rate;
        return DONE;
    default: return WRONG_PARAMETER;
    }
}

void http_url_free(struct url *url)
{
    http_link_remove(&url->all);
    http_listen_release(url->listener);
    http_prefix_free(&url->prefix);
    http_memory_free(url);
}

static struct url *find_same(const struct prefix *prefix)
{
    for (struct link *at = http_urls.next; at != &http_urls; at = at->next)
    {
        struct url *url = CONTAINING_RECORD(at, struct url, all);

        if (http_prefix_same(&url->prefix, prefix))
            return url;
    }
    return NULL;
}

/* The group, or the queue of the file, that a call is about. */
static int owner(struct file *file, uint64_t id, struct group **group)
{
    *group = id ? find(file, id) : NULL;
    if (id ? !*group : !file->queue)
        return id ? WRONG_PARAMETER : WRONG_HANDLE;
    return DONE;
}

static int read_prefix(struct prefix *prefix, const struct http_url *in)
{
    switch (http_prefix_read(prefix, in->text, in->length))
    {
    case PREFIX_OK: return DONE;
    case PREFIX_SECURE: return NOT_SUPPORTED;
    case PREFIX_NO_MEMORY: return NO_MEMORY;
    default: return WRONG_PARAMETER;
    }
}

int http_url_add(struct file *file, const struct http_url *in)
{
    struct url *url = http_memory_new(sizeof(*url));
    int result = url ? owner(file, in->group, &url->group) : NO_MEMORY;

    if (!result)
        result = read_prefix(&url->prefix, in);
    if (!result && find_same(&url->prefix))
        result = EXISTS;
    if (!result)
        result = http_listen_on(url->prefix.port, &url->listener);
    if (result)
    {
        if (url)
            http_prefix_free(&url->prefix);
        http_memory_free(url);
        return result;
    }
    url->queue = url->group ? NULL : file->queue;
    url->context = in->context;
    http_link_add(&http_urls, &url->all);
    return DONE;
}

int http_url_remove(struct file *file, const struct http_url *in)
{
    struct group *group;
    struct prefix prefix;
    struct url *url;
    int result = owner(file, in->group, &group);

    if (result)
        return result;
    if (in->all)
    {
        remove_all(group, file->queue);
        return DONE;
    }
    result = read_prefix(&prefix, in);
    if (result)
        return result;
    url = find_same(&prefix);
    http_prefix_free(&prefix);
    if (!url || url->group != group || (!group && url->queue != file->queue))
        return NOT_FOUND;
    http_url_free(url);
    return DONE;
}
