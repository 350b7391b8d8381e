// Package bundle owns where the programs of one version of Kubernetes lie. A bundle is a folder with the layout of the
// archives that upstream releases, kubernetes-server-linux-amd64.tar.gz and kubernetes-node-windows-amd64.tar.gz
// unpacked over each other: server/bin has the programs for Linux, node/bin those for Windows. What upstream does not
// release with Kubernetes, etcd, lies in server/bin too.
package bundle

import (
	"os"
	"path/filepath"
)

// Bundle is one version's folder.
type Bundle struct{ Dir string }

// At is the bundle of a version, for example v1.36.3, that lies beside Mullion's programs in bin.
func At(bin, version string) Bundle { return Bundle{Dir: filepath.Join(bin, "kubernetes", version)} }

// Server is the folder of the programs for Linux.
func (b Bundle) Server() string { return filepath.Join(b.Dir, "server", "bin") }

// Node is the folder of the programs for Windows.
func (b Bundle) Node() string { return filepath.Join(b.Dir, "node", "bin") }

// Kubectl is the program for Linux.
func (b Bundle) Kubectl() string { return filepath.Join(b.Server(), "kubectl") }

// Missing are the paths of the programs that a cluster needs and that are not there.
func (b Bundle) Missing() []string {
	var missing []string
	for _, program := range []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
	} {
		missing = append(missing, absent(filepath.Join(b.Server(), program))...)
	}
	for _, program := range []string{"kubelet.exe", "kube-proxy.exe"} {
		missing = append(missing, absent(filepath.Join(b.Node(), program))...)
	}
	return missing
}

func absent(path string) []string {
	if _, err := os.Stat(path); err != nil {
		return []string{path}
	}
	return nil
}
