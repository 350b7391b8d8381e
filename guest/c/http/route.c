/* Who takes a request. */
#include "core.h"

#include <string.h>

int http_url_find(struct connection *c)
{
    uint32_t best[PREFIX_KINDS] = {0};
    struct url *found[PREFIX_KINDS] = {NULL};
    bool host_known = false;

    for (struct link *at = http_urls.next; at != &http_urls; at = at->next)
    {
        struct url *url = CONTAINING_RECORD(at, struct url, all);
        int host_fits;
        uint32_t fit = http_prefix_fit(&url->prefix, &c->cooked, &c->here, c->port, &host_fits);

        host_known |= host_fits;
        if (fit <= best[url->prefix.kind])
            continue;
        best[url->prefix.kind] = fit;
        found[url->prefix.kind] = url;
    }
    for (int kind = 0; kind < PREFIX_KINDS; kind++)
    {
        struct url *url = found[kind];

        if (!url)
            continue;
        c->context = url->context;
        if (url->group)
            memcpy(c->times, url->group->times, sizeof(c->times));
        else
            memset(c->times, 0, sizeof(c->times));
        c->queue = url->group ? url->group->queue : url->queue;
        return url->group && url->group->inactive ? 503 : 0;
    }
    return host_known ? 404 : 400;
}
