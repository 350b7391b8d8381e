//go:build kernel

package underlay_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
)

// firewall is what changes a machine's firewall: how it begins, and what then happens to it beside a cluster.
type firewall struct {
	name, begin string
	does        []happening
}

// happening is a script, and whether it takes something of the cluster's with it.
type happening struct {
	script string
	takes  bool
}

// firewalls are scripts of bash. service runs a line of the distribution's own unit, as systemd does, and again ends a
// program and begins it anew.
var firewalls = []firewall{
	{
		name:  "nftables",
		begin: "service nftables ExecStart",
		does: []happening{
			{"service nftables ExecReload", true},
			{"service nftables ExecStop; service nftables ExecStart", true},
		},
	},
	{
		name: "ufw",
		begin: `sed -i s/^ENABLED=.*/ENABLED=yes/ /etc/ufw/ufw.conf
			service ufw ExecStart; iptables -S FORWARD | grep -q 'P FORWARD DROP'`,
		does: []happening{
			{"ufw reload", false},
			{"service ufw ExecStop; service ufw ExecStart", false},
			{"ufw --force disable; ufw --force enable", false},
			{"/usr/lib/ufw/ufw-init flush-all; service ufw ExecStart", true},
		},
	},
	{
		name: "firewalld",
		begin: `mkdir -p /run/dbus; dbus-daemon --system --fork
			begin() {
				(setsid firewalld --nofork --nopid >>/run/firewalld.log 2>&1 & echo $! >/run/own.pid)
				until firewall-cmd --state; do sleep 0.2; done
			}
			declare -f begin >/run/begin; begin
			firewall-cmd --permanent --zone=trusted --add-interface=mullion0; firewall-cmd --reload`,
		does: []happening{
			{"firewall-cmd --reload", false},
			{"firewall-cmd --complete-reload", false},
			{"again", false},
		},
	},
	{
		name: "docker",
		begin: `begin() {
				(setsid dockerd --storage-driver vfs --data-root /run/docker-data >/run/docker.log 2>&1 &
					echo $! >/run/own.pid)
				until grep -q 'API listen on' /run/docker.log; do
					sleep 0.2; kill -0 $(cat /run/own.pid) || { tail -n 20 /run/docker.log; return 1; }
				done
			}
			declare -f begin >/run/begin; begin; iptables -S FORWARD | grep -q 'P FORWARD DROP'`,
		does: []happening{
			{"again", false},
			{"iptables -F; iptables -X; again", true}, // Docker's rules are there anew then
		},
	},
}

// TestFirewalls restarts the machine's firewalls, as Debian has them, beside a cluster's network: it is soon what it
// was, and its hosts reach the outside.
func TestFirewalls(t *testing.T) {
	root := firewallRoot(t)
	for _, f := range firewalls {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			box := newBox(t, e.machine, root)
			box.do(t, f.begin)
			e.up(t)

			netnstest.Serve(t, e.outside, "outside", "198.51.100.2:80")
			inside := e.u.HostNetns("win-a")
			netnstest.Flow(t, inside, "198.51.100.2:80", "outside", "198.51.100.1")

			before, mended := ours(t, e), e.watch(t)
			for _, does := range f.does {
				box.do(t, does.script)
				var said []string
				now := ""
				for deadline := time.Now().Add(20 * time.Second); ; <-time.After(100 * time.Millisecond) {
					said, now = append(said, mended()...), ours(t, e)
					if now == before && (len(said) > 0 || !does.takes) {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("%s: the cluster had\n%s\nand has\n%s\nmended is %q", does.script, before, now, said)
					}
				}

				t.Logf("%s: mended %q", does.script, said)
				netnstest.Flow(t, inside, "198.51.100.2:80", "outside", "198.51.100.1")
			}
		})
	}
}

// ours returns what the cluster has in the machine's firewall: its own tables, and its rules in those of others, which
// have counters of their own.
func ours(t *testing.T, e env) string {
	t.Helper()
	return run(t, e.machine, "sh", "-c", `nft list tables | awk '/ mullion_/ {print $2, $3}' | sort |
			while read -r family table; do nft -s list table "$family" "$table"; done
		nft -s list ruleset | awk '/^table/ {table = $2 " " $3} /mullion/ && table !~ / mullion_/ {print table, $0}' |
			grep -v 'table inet firewalld\|^inet firewalld' | sort -u
		cat /proc/sys/net/ipv4/ip_forward`)
}

// watch mends the network until the test ends, as a supervisor does. What it returns says what was mended since it was
// asked last.
func (e env) watch(t *testing.T) (mended func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var all []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.u.Watch(ctx, func() {
			said, err := e.u.Mend(ctx)
			if err != nil && ctx.Err() == nil {
				t.Logf("for now: %v", err) // a firewall may be half way
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, said...)
		}, func(err error) { t.Error(err) })
	}()

	t.Cleanup(func() {
		cancel()
		<-done
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		some := all
		all = nil
		return some
	}
}

// firewallRoot returns a root with the programs.
func firewallRoot(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("MULLION_MACHINES_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "mullion", "machines")
	}

	root := filepath.Join(cache, "firewalls-trixie")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no root with firewalls: hack/root.sh firewalls makes one")
	}
	return root
}

// box is a shell in a network namespace of the machine's, with a root, processes and mounts of its own, which end with
// it.
type box struct {
	in  io.Writer
	out *bufio.Reader
}

// boxed makes the root, on which what is written lies in memory, and becomes the shell.
const boxed = `set -e
mount -t tmpfs tmpfs "$2"; mkdir "$2/up" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/up,workdir=$2/work" overlay "$2/root"; cd "$2/root"
mount -t proc proc proc; mount -t sysfs sysfs sys; mount --rbind /sys/fs/cgroup sys/fs/cgroup; mount --rbind /dev dev
mount -t tmpfs tmpfs run; mkdir run/lock
exec chroot . /bin/bash`

// words are what the scripts begin with.
const words = `again() {
	. /run/begin; kill $(cat /run/own.pid); while kill -0 $(cat /run/own.pid) 2>/dev/null; do sleep 0.1; done; begin
}
service() { sed -n "s/^$2=-\\{0,1\\}//p" /usr/lib/systemd/system/$1.service | bash -e; }
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
`

func newBox(t *testing.T, ns, root string) *box {
	t.Helper()
	cmd := exec.Command("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "sh", "-c",
		boxed, "sh", root, t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := netns.Do(ns, cmd.Start); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	b := &box{in: in, out: bufio.NewReader(out)}
	_, _ = io.WriteString(in, words) // or do says what is wrong
	return b
}

// do runs a script in the box; an error ends the test.
func (b *box) do(t *testing.T, script string) {
	t.Helper()
	const end = "=end of script "
	if _, err := fmt.Fprintf(b.in, "( set -e\n%s\n) </dev/null 2>&1; echo; echo \"%s$?\"\n", script, end); err != nil {
		t.Fatal(err)
	}

	var said strings.Builder
	for {
		line, err := b.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", script, err, said.String(), line)
		}
		code, ended := strings.CutPrefix(line, end)
		if !ended {
			said.WriteString(line)
			continue
		}

		if strings.TrimSpace(code) != "0" {
			t.Fatalf("%s: exit status %s%s", script, code, said.String())
		}
		return
	}
}
