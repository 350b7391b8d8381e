package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/controlplane/imageregistry"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

// choosePort checks that the wanted TCP port of the machine is free, or finds a free one for 0.
func choosePort(address string, port int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return 0, &ConflictError{
			Err:    fmt.Errorf("listen on %s port %d for the API server: %w", address, port, err),
			Remedy: "choose another networking.apiServerPort in cluster.yaml, or leave it out to get a free one",
		}

	case err != nil:
		return 0, &ConflictError{
			Err:    fmt.Errorf("listen on %s port %d for the API server: %w", address, port, err),
			Remedy: "choose an address of this machine",
		}
	}

	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil // a TCP listener has a TCP address
}

// CheckUnderlay refuses an underlay subnet that the machine already uses: another cluster's, or a network of the
// machine's own.
func CheckUnderlay(c spec.Cluster, paths layout.Paths) error {
	if c.Foreign() { // its nodes are on a network of the machine's own
		return nil
	}
	subnet := c.Networking.Underlay()
	links, err := net.Interfaces()
	if err != nil {
		return err
	}

	for _, link := range links {
		addrs, err := link.Addrs()
		if err != nil {
			continue // the link has gone
		}

		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err == nil && p.Overlaps(subnet) {
				return &ConflictError{
					Err: fmt.Errorf("use underlay subnet %s: this machine already has the address %s", subnet, p),
					Remedy: fmt.Sprintf("%s; or set networking.underlaySubnet in cluster.yaml (data folder here: %s)",
						holder(link.Name), paths.Data),
				}
			}
		}
	}

	return nil
}

// holder says whose link of the machine has the underlay's addresses.
func holder(link string) string {
	const unknown = "another cluster may be up (`mullion --data-dir DIR down`)"
	run, ok := underlay.Owner(link)
	if !ok {
		return unknown
	}
	data, err := layout.DataOf(run)
	if err != nil {
		return unknown
	}
	return fmt.Sprintf("another cluster has it, or has left it behind: `mullion --data-dir %s down`", data)
}

// PreflightOptions say what is to be brought up.
type PreflightOptions struct {
	Paths layout.Paths
	// Nodes are those that this machine will have.
	Nodes []spec.Node
	// Kubernetes are the versions that are needed, "" being the one that Mullion comes with.
	Kubernetes []string
	// Wine is the folder of the Wine to use, "" for the one that is installed.
	Wine string
	// Networking is the cluster's, or the zero value if it is not known yet.
	Networking spec.Networking
	// Docker says that there will be Docker's engine in place of a cluster, Registry that there will be a registry.
	Docker, Registry bool
	// Unprivileged says that an ordinary user asks, who cannot see all.
	Unprivileged bool
}

// Preflight looks at the machine before a cluster is brought up and returns what will hinder the cluster, the fatal
// findings first.
func Preflight(ctx context.Context, o PreflightOptions) []preflight.Finding {
	return preflight.Findings(Examine(ctx, o))
}

// ownPrograms returns what runs of the programs that lie beside mullion: those of a cluster, or of Docker's engine.
func ownPrograms(o PreflightOptions) []string {
	all := []string{
		"mullion-node", "mullion-init", "containerd", "containerd-shim-runc-v2", "runc",
		"windows/shim/bcryptprimitives.dll",
	}
	if o.Docker {
		return all
	}
	if o.Registry {
		all = append(all, imageregistry.Name)
	}
	return append(all,
		"mullion-pause", "coredns", "metrics-server", "cni/ptp", "cni/portmap", "cni/host-local",
		"windows/win-bridge.exe", "windows/host-local.exe",
	)
}

// missingPrograms returns Mullion's own programs that the cluster needs and that are not there; of the hidden ones an
// ordinary user cannot see it.
func missingPrograms(o PreflightOptions) (missing, hidden []string) {
	for _, program := range ownPrograms(o) {
		if _, err := os.Stat(o.Paths.Program(program)); err != nil {
			missing = append(missing, program)
		}
	}

	for _, v := range o.Kubernetes {
		for _, program := range o.Paths.Kubernetes(v).Missing() {
			if o.Unprivileged && strings.HasPrefix(program, o.Paths.Data+"/") {
				hidden = append(hidden, program)
				continue
			}
			if below, err := filepath.Rel(o.Paths.Bin, program); err == nil {
				program = below
			}
			missing = append(missing, program)
		}
	}

	return missing, hidden
}

// Examine looks at the machine, and returns a check for each thing that a cluster needs of it.
func Examine(ctx context.Context, o PreflightOptions) []preflight.Check {
	var missing []error
	windows, noWine := wine.Find(o.Wine)
	if noWine != nil {
		missing = append(missing, noWine)
	}

	for _, program := range []string{"nft", "nsenter"} {
		if _, err := lookPath(program); err != nil {
			missing = append(missing, fmt.Errorf("find program %q: %w", program, err))
		}
	}

	own, hidden := missingPrograms(o)
	nft, err := lookPath("nft")
	if err != nil {
		nft = ""
	}

	facts := preflight.Look(ctx, preflight.Options{
		DataFolder: o.Paths.Data,
		BinFolder:  o.Paths.Bin,
		Programs:   missing,
		Own:        own,
		Hidden:     hidden,
		Preloader:  noWine != nil || windows.Preloader != "",
		Nft:        nft,
		Link:       o.Paths.Link(),

		Unprivileged: o.Unprivileged,
	})

	_, err = os.Stat(o.Paths.Spec())
	want := preflight.Want{
		Nodes:   len(o.Nodes),
		Memory:  map[string]int64{},
		New:     errors.Is(err, fs.ErrNotExist),
		Link:    o.Paths.Link(),
		Subnets: map[string][]netip.Prefix{},
	}

	for i, n := range o.Nodes {
		name := cmp.Or(n.Name, fmt.Sprintf("nodes[%d]", i)) // a machine that joins learns names later
		if own := n.Memory.Bytes(); own > 0 {
			want.Memory[name] = own
		}
	}

	if n := o.Networking; n.PodSubnet != "" {
		want.IPv6 = n.DualStack()
		want.Subnets["podSubnet"] = []netip.Prefix{n.Pods(), n.Pods6()}
		want.Subnets["serviceSubnet"] = []netip.Prefix{n.Services(), n.Services6()}
	}

	return preflight.Examine(facts, want)
}

// lookPath finds a program also in folders that are not in an ordinary user's PATH.
func lookPath(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}
