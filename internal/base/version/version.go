// Package version owns the program's own version and the versions of the upstream programs it carries.
package version

import "strings"

// Kubernetes is the version of every Kubernetes program in a cluster, Linux and Windows alike. It is the version of
// k8s.io/kubernetes in upstream/cluster/kubernetes/go.mod; a test compares the two.
const Kubernetes = "v1.37.1"

// KubernetesMinor returns the minor version, as "1.37".
func KubernetesMinor() string {
	text := strings.TrimPrefix(Kubernetes, "v")
	return text[:strings.LastIndexByte(text, '.')]
}

// version is set by the linker (see the Makefile).
var version = "devel" // the linker can only set a variable

// Mullion returns this program's version, for example "v0.1.0-12-gabcdef0".
func Mullion() string { return version }
