package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"mullion.dev/mullion/internal/base/netns"
)

// Linux counts what waits in a socket of TCP or UDP for the container, and what waits in one of netlink or of ping, as
// an answer that no program reads, for nobody: neither cgroup v1 nor v2 does. Each of them holds up to twice
// net.core.rmem_max, and a container may have as many as its memory lets it open.

// MostUnread is how many bytes may wait in those sockets of a pod. A pod that reads what it asks for has next to none.
const MostUnread = 16 << 20

// ownBytes is what a socket counts for itself, so that there is an end of empty ones too.
const ownBytes = 4096

const (
	// lookForUnread is the time between two looks, and unreadPause how many times as long as a look took nothing is
	// looked at.
	lookForUnread = 500 * time.Millisecond
	unreadPause   = 50
)

// LookForUnread calls look, which looks at what waits in sockets, again and again until ctx ends.
func LookForUnread(ctx context.Context, look func()) {
	for ctx.Err() == nil {
		begun := time.Now()
		look()
		wait := time.NewTimer(max(lookForUnread, unreadPause*time.Since(begun)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
	}
}

// UnreadOf is Unread for the network namespace of a container that runs, also one without a path.
func (e *Engine) UnreadOf(ctx context.Context, id string, most int64) (int64, error) {
	got, err := e.client.TaskService().Get(e.with(ctx), &tasksapi.GetRequest{ContainerID: id})
	if err != nil {
		return 0, fmt.Errorf("look at container %q: %w", id, errgrpc.ToNative(err))
	}
	return Unread(fmt.Sprintf("/proc/%d/ns/net", got.GetProcess().GetPid()), most)
}

// unreadLists returns the kernel's lists of such sockets of a network namespace, with the column that has the bytes, in
// decimal and of netlink alone, or as "tx:rx" in hexadecimal
// (https://github.com/torvalds/linux/blob/v6.12/net/netlink/af_netlink.c, netlink_native_seq_show;
// https://github.com/torvalds/linux/blob/v6.12/net/ipv4/ping.c, ping_v4_format_sock).
func unreadLists() map[string]int { return map[string]int{"netlink": 4, "icmp": 4, "icmp6": 4} }

// Unread returns how many bytes wait in those sockets of the network namespace at a path, with their own; if it is more
// than most, not all of them are counted.
func Unread(path string, most int64) (int64, error) {
	var sum int64
	err := netns.Do(path, func() error {
		for list, column := range unreadLists() {
			file, err := os.Open("/proc/thread-self/net/" + list)
			if errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
				continue
			}
			if err != nil {
				return err
			}

			n, err := unreadOf(file, column, most-sum)
			_ = file.Close() // it was read
			if sum += n; err != nil || sum > most {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return sum, fmt.Errorf("look for answers that are not read in %q: %w", path, err)
	}

	return sum, nil
}

// Unread is the function Unread, for who asks an engine.
func (*Engine) Unread(path string, most int64) (int64, error) { return Unread(path, most) }

// unreadOf adds up the column of a list of sockets, whose first line has the names of the columns.
func unreadOf(list io.Reader, column int, most int64) (int64, error) {
	lines := bufio.NewScanner(list)
	lines.Scan()
	var sum int64
	for lines.Scan() && sum <= most {
		fields := strings.Fields(lines.Text())
		if len(fields) <= column {
			return sum, fmt.Errorf("a socket is described as %q", lines.Text())
		}
		text, base := fields[column], 10
		if _, received, ok := strings.Cut(text, ":"); ok {
			text, base = received, 16
		}

		n, err := strconv.ParseInt(text, base, 64)
		if err != nil {
			return sum, err
		}
		sum += n + ownBytes
	}

	return sum, lines.Err()
}
