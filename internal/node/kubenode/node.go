package kubenode

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/spec"
)

// Node is a node of one of the two systems. A file of the node is named by the path that it has on Linux; on Windows it
// is at the same place on C:.
type Node struct {
	Config
	// OS is the node's system, spec.Linux or spec.Windows.
	OS string
	// File returns the machine's path of a file of the node, given by the path that the node's programs know.
	File func(path string) (string, error)
	// Tweak adds to the kubelet's configuration what the node's system asks for.
	Tweak func(*kubeletv1beta1.KubeletConfiguration)
}

// Path is a path as the node's programs write it.
func (n Node) Path(path string) string {
	if n.OS == spec.Windows {
		return "C:" + strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

// file is the machine's path of a file of the node.
func (n Node) file(path string) (string, error) { return n.File(n.Path(path)) }

// WriteFile replaces a file of the node whole or not at all.
func (n Node) WriteFile(path string, data []byte, mode fs.FileMode) error {
	on, err := n.file(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(on), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(on, data, mode); err != nil {
		return fmt.Errorf("write file of host %q: %w", n.Name, err)
	}
	return nil
}
