// Package bundle owns where the programs of one version of Kubernetes lie, and how a bundle of a person's own is taken
// in. A bundle is a folder with the layout of the archives that upstream releases, kubernetes-server-linux-amd64.tar.gz
// and kubernetes-node-windows-amd64.tar.gz unpacked over each other: server/bin has the programs for Linux, node/bin
// those for Windows. What upstream does not release with Kubernetes, etcd, lies in server/bin too, or is that of
// another bundle.
package bundle

import (
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/spec"
)

// Bundle is one version's folder.
type Bundle struct {
	Dir string
	// Spare is the folder of the bundle whose etcd is used where this one has none; "" where there is no such bundle.
	Spare string
}

// At returns the bundle of a version, for example v1.36.3, that lies in the folder dir: that of Mullion's programs, or
// that of a cluster's state.
func At(dir, version string) Bundle { return Bundle{Dir: filepath.Join(dir, "kubernetes", version)} }

// Server returns the folder of the programs for Linux.
func (b Bundle) Server() string { return filepath.Join(b.Dir, serverDir) }

// Node returns the folder of the programs for Windows.
func (b Bundle) Node() string { return filepath.Join(b.Dir, nodeDir) }

// Kubectl returns the program for Linux.
func (b Bundle) Kubectl() string { return filepath.Join(b.Server(), "kubectl") }

// Etcd returns the program, the spare one where the bundle has none.
func (b Bundle) Etcd() string {
	own := filepath.Join(b.Dir, etcd)
	if b.Spare == "" || b.HasEtcd() {
		return own
	}
	return filepath.Join(b.Spare, etcd)
}

// HasEtcd reports whether an etcd lies in the bundle itself.
func (b Bundle) HasEtcd() bool { return there(filepath.Join(b.Dir, etcd)) }

// HasContainerd reports whether the bundle has a containerd of its own, for Linux nodes with a kubelet that cannot call
// Mullion's.
func (b Bundle) HasContainerd() bool { return there(filepath.Join(b.Server(), "containerd")) }

// There reports whether there is such a folder.
func (b Bundle) There() bool { return there(b.Dir) }

// Missing returns the paths of the programs that a cluster needs and that are not there.
func (b Bundle) Missing() []string {
	var missing []string
	for _, p := range programs() {
		path := filepath.Join(b.Dir, p.place)
		if p.place == etcd {
			path = b.Etcd()
		}
		if !there(path) {
			missing = append(missing, path)
		}
	}
	return missing
}

// The folders of a bundle, and etcd's place in it.
const (
	serverDir = "server/bin"
	nodeDir   = "node/bin"
	etcd      = serverDir + "/etcd"
)

// program is one of the programs of a bundle: its place, and the system that it is for.
type program struct{ place, system string }

// programs returns the programs that a cluster needs.
func programs() []program {
	var all []program
	for _, name := range []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
	} {
		all = append(all, program{serverDir + "/" + name, spec.Linux})
	}
	for _, name := range []string{"kubelet.exe", "kube-proxy.exe"} {
		all = append(all, program{nodeDir + "/" + name, spec.Windows})
	}
	return all
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
