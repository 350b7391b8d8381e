package preflight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/runtime/userns"
)

// Options say where Look looks.
type Options struct {
	// DataFolder is the cluster's, which need not exist yet; BinFolder is that of Mullion's programs.
	DataFolder, BinFolder string
	// Programs, Own and Hidden are passed on to Facts.
	Programs []error
	Own      []string
	Hidden   []string
	// Unprivileged says that an ordinary user asks: nothing is attempted then.
	Unprivileged bool
	// Preloader says that Wine has its preloader, or is not there at all.
	Preloader bool
	// Nft is the path of nft, "" if there is none.
	Nft string
	// Link is the machine's link to the cluster's network, which firewalls may know.
	Link string
}

// Look looks at the machine, and leaves nothing behind. What it can only find out as root it leaves out for an ordinary
// user. A value that cannot be read stays zero: that is no reason to refuse a machine.
func Look(ctx context.Context, o Options) Facts {
	f := Facts{
		Unprivileged:      o.Unprivileged,
		Kernel:            release(),
		Programs:          o.Programs,
		Own:               o.Own,
		Hidden:            o.Hidden,
		Preloader:         o.Preloader,
		Namespaces:        missingNamespaces(),
		MaxUserNamespaces: number("/proc/sys/user/max_user_namespaces", -1),
		DataFolder:        folder(o.DataFolder),
		BinFolder:         folder(o.BinFolder),
		ModulesLocked:     number("/proc/sys/kernel/modules_disabled", 0) == 1,
		Seccomp:           exists("/proc/sys/kernel/seccomp/actions_avail"),
		CoreProgram:       coreProgram(),
		AppArmorProfile:   profile(),
		SELinux:           trySELinux(lookSELinux("/")),
		MemoryAvailable:   meminfo("MemAvailable:"),
		MemoryTotal:       meminfo("MemTotal:"),
		InotifyInstances:  number("/proc/sys/fs/inotify/max_user_instances", 0),
		InotifyWatches:    number("/proc/sys/fs/inotify/max_user_watches", 0),
		Routes:            routes(),
		IPv6:              exists("/proc/sys/net/ipv6"),
	}

	cgroups, err := controllers()
	f.Controllers = cgroups.enabled
	if o.Unprivileged {
		return f
	}
	f.CgroupWritable = err
	if err == nil {
		f.CgroupWritable = tryCgroup(cgroups.folders)
	}

	f.CoreFiles = userns.AllowCoreLimit()
	f.Network = tryNetwork(ctx, o.Nft)
	user, err := userNamespace()
	f.UserNamespace = err
	if err == nil {
		defer user.Close()
	}
	f.DataFolder.Overlay, f.DataFolder.IDMapped = tryMounts(f.DataFolder.Path, user)
	f.Dropping = dropping(ctx, o.Nft, o.Link)

	return f
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// number reads a file that holds a number; if it cannot, it returns otherwise.
func number(path string, otherwise int64) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// coreProgram returns the program that takes core files, "" if they are files:
// https://man7.org/linux/man-pages/man5/core.5.html, Piping core dumps to a program.
func coreProgram() string {
	text, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	program, piped := strings.CutPrefix(string(text), "|")
	if words := strings.Fields(program); err == nil && piped && len(words) > 0 {
		return words[0]
	}
	return ""
}

func release() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

func missingNamespaces() []string {
	var missing []string
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		if !exists("/proc/self/ns/" + kind) {
			missing = append(missing, kind)
		}
	}
	return missing
}

// fsNames are file systems that people keep data folders on, by statfs(2)'s number.
func fsNames() map[int64]string {
	return map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.OVERLAYFS_SUPER_MAGIC: "overlay",
		unix.TMPFS_MAGIC:           "tmpfs", unix.NFS_SUPER_MAGIC: "nfs", unix.FUSE_SUPER_MAGIC: "fuse",
		unix.F2FS_SUPER_MAGIC: "f2fs", 0x2fc12fc1: "zfs", 0x01021997: "9p",
	}
}

// folder looks at a folder, or at the nearest existing one above it.
func folder(path string) Folder {
	for ; ; path = filepath.Dir(path) {
		var st unix.Statfs_t
		err := unix.Statfs(path, &st)
		if errors.Is(err, unix.ENOENT) && path != filepath.Dir(path) {
			continue
		}
		if err != nil {
			return Folder{Path: path, Unread: err}
		}

		name, ok := fsNames()[st.Type]
		if !ok {
			name = fmt.Sprintf("file system type 0x%x", st.Type)
		}
		return Folder{
			Path:     path,
			Type:     name,
			NoExec:   st.Flags&unix.ST_NOEXEC != 0,
			ReadOnly: st.Flags&unix.ST_RDONLY != 0,
			Free:     st.Bavail * uint64(st.Bsize),
		}
	}
}

func profile() string {
	text, err := os.ReadFile("/proc/self/attr/apparmor/current")
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(strings.Trim(string(text), "\n\x00"), " ")
	if name == "unconfined" {
		return ""
	}
	return name
}

// meminfo returns a line of proc_meminfo(5), in bytes.
func meminfo(name string) uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == name {
			kib, _ := strconv.ParseUint(fields[1], 10, 64) // 0 is unknown
			return kib << 10
		}
	}
	return 0
}

func routes() []Route {
	list, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil
	}

	var all []Route
	for _, r := range list {
		if r.Dst == nil {
			continue
		}
		prefix, err := netip.ParsePrefix(r.Dst.String())
		if err != nil {
			continue
		}

		link, err := netlink.LinkByIndex(r.LinkIndex)
		if err != nil {
			continue
		}
		all = append(all, Route{Prefix: prefix, Link: link.Attrs().Name})
	}

	return all
}

// tryNetwork tries to make each kind of link and table, in a network namespace that ends with the attempt.
func tryNetwork(ctx context.Context, nft string) map[string]error {
	tried := map[string]error{}
	err := netns.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}

		for what, link := range map[string]netlink.Link{
			"a bridge":             &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "try0"}},
			"a pair of veth links": &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "try1"}, PeerName: "try2"},
			"a VXLAN link": &netlink.Vxlan{
				LinkAttrs: netlink.LinkAttrs{Name: "try3"},
				VxlanId:   1,
				Port:      4789,
			}, // any will do
		} {
			tried[what] = netlink.LinkAdd(link)
		}

		if nft != "" {
			cmd := exec.CommandContext(ctx, nft, "-f", "-")
			cmd.Stdin = strings.NewReader(
				"table inet try { chain c { type nat hook postrouting priority 100; ip saddr 192.0.2.0/24 masquerade; }; }\n")
			if out, err := cmd.CombinedOutput(); err != nil {
				tried["an nftables table with NAT"] = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
			}
		}

		return nil
	})
	if err != nil {
		tried["a network namespace"] = err
	}
	return tried
}

// dropping lists the nftables chains that drop forwarded packets, in the calling thread's network namespace.
func dropping(ctx context.Context, nft, link string) []string {
	if nft == "" {
		return nil
	}
	out, err := exec.CommandContext(ctx, nft, "-j", "list", "ruleset").Output()
	if err != nil {
		return nil
	}
	return droppingIn(out, link)
}

// droppingIn reads the output of `nft -j list ruleset`; libnftables-json(5). It leaves out a table with a rule for the
// link, because somebody has told it of the cluster; and chains of iptables and ip6tables, because the cluster puts its
// own rules there (internal/network/underlay).
func droppingIn(text []byte, link string) []string {
	var list struct {
		Nftables []struct {
			Chain *struct{ Family, Table, Name, Hook, Policy string }
			Rule  *struct {
				Family, Table string
				Expr          json.RawMessage
			}
		}
	}

	if json.Unmarshal(text, &list) != nil {
		return nil
	}
	told := map[string]bool{}
	for _, entry := range list.Nftables {
		if r := entry.Rule; r != nil && link != "" && bytes.Contains(r.Expr, []byte(strconv.Quote(link))) {
			told[r.Family+" "+r.Table] = true
		}
	}

	var chains []string
	for _, entry := range list.Nftables {
		c := entry.Chain
		// firewalld's chains reject in their last rule
		if c == nil || c.Hook != "forward" || (c.Policy != "drop" && c.Table != firewalld) {
			continue
		}
		table := c.Family + " " + c.Table
		if table != "ip filter" && table != "ip6 filter" && !told[table] {
			chains = append(chains, table+" "+c.Name)
		}
	}

	slices.Sort(chains)
	return slices.Compact(chains)
}

// cgroupTree is what the machine has of cgroups: the controllers that may be used, and the folders in which a cgroup is
// made.
type cgroupTree struct{ enabled, folders []string }

func controllers() (cgroupTree, error) {
	const root = "/sys/fs/cgroup"
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		return cgroupTree{}, err
	}
	if st.Type == unix.CGROUP2_SUPER_MAGIC {
		text, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
		return cgroupTree{strings.Fields(string(text)), []string{root}}, err
	}

	enabled, err := v1Controllers()
	if err != nil {
		return cgroupTree{}, err
	}
	folders, err := filepath.Glob(root + "/*/memory.limit_in_bytes")
	for i := range folders {
		folders[i] = filepath.Dir(folders[i])
	}

	return cgroupTree{enabled, folders}, err
}

// tryCgroup makes a cgroup in each folder, and removes it again.
func tryCgroup(folders []string) error {
	for _, dir := range folders {
		dir = filepath.Join(dir, fmt.Sprintf("mullion-try-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// v1Controllers reads the enabled controllers of cgroup v1; cgroups(7).
func v1Controllers() ([]string, error) {
	text, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		// name, hierarchy, cgroups, enabled
		if fields := strings.Fields(line); len(fields) == 4 && fields[3] == "1" {
			all = append(all, fields[0])
		}
	}
	return all, nil
}
