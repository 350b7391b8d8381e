// Package hosts owns how commands reach the hosts of a cluster's nodes, and copy files to and from them.
package hosts

import (
	"errors"
	"os"

	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/node/winhost"
)

// Windows finds a Windows node of the cluster and the host that it runs on.
func Windows(call *invoke.Call, name string) (winhost.Host, error) {
	paths, err := call.Paths()
	if err != nil {
		return winhost.Host{}, err
	}
	if err := call.RequireRoot("enters the namespaces and the files of a node's host"); err != nil {
		return winhost.Host{}, err
	}
	h, err := cluster.LoadHost(paths, name)
	return h, remedy.NodeDown(name, remedy.NotFound(remedy.MissingHost(paths, err)))
}

// Linux finds the host of a Linux node; it returns false for a Windows node.
func Linux(call *invoke.Call, name string) (linuxhost.Host, bool, error) {
	paths, err := call.Paths()
	if err != nil {
		return linuxhost.Host{}, false, err
	}
	if err := call.RequireRoot("enters the namespaces and the files of a node's host"); err != nil {
		return linuxhost.Host{}, false, err
	}

	h, linux, err := cluster.LoadLinuxHost(paths, name)
	if errors.Is(err, os.ErrNotExist) {
		return h, false, remedy.NoCluster(paths.Data, err)
	}
	return h, linux, remedy.NotFound(err)
}
