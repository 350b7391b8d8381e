package winserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"mullion.dev/mullion/internal/machines/terms"
	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/winserver/api"
	"mullion.dev/mullion/internal/winserver/journal"
)

// removePatience is how long a file may be in use after the service that had it open has stopped.
const removePatience = 20 * time.Second

// Leave takes back everything that the journal has. deleteNode has the node delete its Node first, with its own rights.
func (h Host) Leave(ctx context.Context, deleteNode bool, say Say) error {
	j, err := h.Journal()
	if err != nil {
		return err
	}

	c := change{h, j, say}
	if deleteNode {
		if err := c.deleteNode(ctx); err != nil {
			return err
		}
	}

	for _, name := range []string{kubeProxy, kubelet} {
		if _, ok := j.Find(journal.Service, name); !ok {
			continue
		}
		if err := h.stop(name); err != nil {
			return err
		}

		say("stopped service %s", name)
		if name == kubeProxy {
			if err := h.Networks.ClearServices(); err != nil {
				return err
			}
		}
	}

	if err := c.endPods(ctx); err != nil {
		return err
	}

	for _, e := range slices.Backward(slices.Clone(j.Entries)) {
		if err := c.undo(ctx, e); err != nil {
			return fmt.Errorf("remove %s %s: %w", e.Kind, e.Name, err)
		}
		if err := j.Drop(e); err != nil {
			return err
		}
	}

	if err := j.Remove(); err != nil {
		return err
	}
	say("nothing of node %s is left on this server", j.Node)
	return nil
}

// deleteNode deletes the Node, which also takes the node's rights away.
func (c change) deleteNode(ctx context.Context) error {
	ca, err := os.ReadFile(c.file(nodeconfig.CAFile))
	if errors.Is(err, fs.ErrNotExist) {
		c.say("the server never had a certificate of the cluster, so node %s cannot be deleted from here", c.journal.Node)
		return nil
	}
	if err != nil {
		return err
	}

	client, err := api.ByCertificate(c.journal.Server, ca, c.file(kubeletCertPEM))
	if err != nil {
		return err
	}
	// The kubelet would make it anew.
	if err := c.stop(kubelet); err != nil {
		return err
	}

	err = client.DeleteNode(ctx, c.journal.Node)
	switch {
	case errors.Is(err, api.ErrNotFound):
		return nil
	case errors.Is(err, api.ErrForbidden):
		return fmt.Errorf("%w: have an administrator run: kubectl delete node %s, and leave without --delete-node", err,
			c.journal.Node)
	case err != nil:
		return err
	}

	c.say("deleted node %s", c.journal.Node)
	return nil
}

// endPods removes the pods, while the network is there that their addresses are given back to.
func (c change) endPods(ctx context.Context) error {
	if c.journal.Runtime {
		_, runs, err := c.running(containerd)
		if err != nil || !runs {
			return err
		}
	}
	if _, ok := c.journal.Find(journal.Service, kubelet); !ok {
		return nil // no pod came from this node
	}

	n, err := c.EndPods(ctx, c.journal.Endpoint)
	if err != nil {
		return fmt.Errorf("remove the pods: %w", err)
	}
	c.say("removed %d pod(s)", n)
	return nil
}

// undo takes a change back. What is gone already is no error.
func (c change) undo(ctx context.Context, e journal.Entry) error {
	switch e.Kind {
	case journal.Service:
		if err := c.remove(e.Name); err != nil {
			return err
		}
		c.say("removed service %s", e.Name)

	case journal.Network:
		if err := c.Networks.Delete(e.Name); err != nil {
			return err
		}
		c.say("removed HNS network %s", e.Name)

	case journal.Firewall:
		return c.Firewall.Remove(ctx, e.Name)
	case journal.Route:
		to, via, err := parseRoute(e.Name)
		if err != nil {
			return err
		}
		if err := c.Routes.Remove(ctx, to, via); err != nil {
			return err
		}
		c.say("removed the route to %s", to)

	case journal.File:
		return c.putBack(ctx, e)
	case journal.Folder:
		return c.empty(ctx, e)
	default:
		return errors.New("this agent does not know that kind of change")
	}

	return nil
}

// putBack puts a file back that stood in the place of one of the node's.
func (c change) putBack(ctx context.Context, e journal.Entry) error {
	if _, err := os.Lstat(c.file(e.Kept)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := c.removeAll(ctx, e.Name); err != nil {
		return err
	}
	c.say("put %s back", windows(e.Name))
	return os.Rename(c.file(e.Kept), c.file(e.Name))
}

// empty removes a folder that was made, or of another one what was not in it.
func (c change) empty(ctx context.Context, e journal.Entry) error {
	if e.Made {
		if err := c.removeAll(ctx, e.Name); err != nil {
			return err
		}
		c.say("removed %s", windows(e.Name))
		return nil
	}

	entries, err := os.ReadDir(c.file(e.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	for _, entry := range entries {
		if has(e.Had, entry.Name()) {
			continue
		}
		name := path.Join(e.Name, entry.Name())
		if err := c.removeAll(ctx, name); err != nil {
			return err
		}
		c.say("removed %s", windows(name))
	}

	return nil
}

// removeAll removes a file or a folder, and does not follow links in it. A file that is in use is tried again.
func (c change) removeAll(ctx context.Context, name string) error {
	var last error
	err := c.wait(ctx, removePatience, func(context.Context) error {
		last = os.RemoveAll(c.file(name))
		return last
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// Node returns what leave says that an administrator does before.
func (h Host) Node() (name string, advice []string, err error) {
	j, err := h.Journal()
	if err != nil {
		return "", nil, err
	}
	return j.Node, []string{
		"kubectl drain " + j.Node + " --ignore-daemonsets --delete-emptydir-data",
		"kubectl delete node " + j.Node,
		"kubectl delete clusterrolebinding " + terms.RightsName(j.Node, "proxy") + " --ignore-not-found",
	}, nil
}
