package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mullion.dev/mullion/internal/cli/kubeconfig"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
)

// Access is how somebody asks the cluster's API server.
type Access struct {
	// Config is a kubeconfig with one context, and Version the cluster's version of Kubernetes, if it is known.
	Config  *clientcmdapi.Config
	Version string
	// Viewer says that it may only read.
	Viewer bool
}

// Access returns how one without root's rights asks the API server: by the context that `up` has put into the
// person's own kubeconfig, with the administrator's rights. Without that context, a kubeconfig of the cluster's socket
// may only read.
func (r *Reader) Access(ctx context.Context, paths layout.Paths) (Access, error) {
	var told view.Cluster
	askErr := r.Ask(ctx, paths, "cluster", nil, &told)
	own, found, findErr := r.ownContext(paths)
	if found && (askErr != nil || current(own.Config, told)) {
		return Access{Config: own.Config, Version: told.Spec.KubernetesVersion}, nil //nolint:nilerr // its own needs no answer
	}
	if askErr != nil {
		return Access{}, askErr
	}

	config, err := r.viewerConfig(ctx, paths)
	if err != nil {
		return Access{}, errors.Join(err, findErr)
	}
	return Access{
		Config:  config,
		Version: told.Spec.KubernetesVersion,
		Viewer:  true,
	}, nil
}

// ownContext returns the cluster's context in the person's own kubeconfig.
func (r *Reader) ownContext(paths layout.Paths) (kubeconfig.Found, bool, error) {
	target, err := kubeconfig.Locate(r.Env.Environ)
	if err != nil {
		return kubeconfig.Found{}, false, err
	}
	return kubeconfig.Find(target, paths.Data)
}

// current reports whether a context is of the cluster that is up, and not of one that was there before.
func current(config *clientcmdapi.Config, told view.Cluster) bool {
	if told.Server == "" { // it does not say
		return true
	}
	for _, c := range config.Clusters {
		if c.Server != told.Server || !bytes.Equal(c.CertificateAuthorityData, told.Authority) {
			return false
		}
	}
	return true
}

// viewerConfig returns the kubeconfig of the cluster's socket.
func (r *Reader) viewerConfig(ctx context.Context, paths layout.Paths) (*clientcmdapi.Config, error) {
	answer, err := r.View(paths).Open(ctx, "kubeconfig", nil)
	if err != nil {
		return nil, r.ReadError(paths, err)
	}
	text, err := io.ReadAll(answer)
	if err = errors.Join(err, answer.Close()); err != nil {
		return nil, r.ReadError(paths, err)
	}
	return clientcmd.Load(text)
}

// unnamedFile returns a file in memory that this process has, and what it starts or becomes. It goes with them, so that
// a key is never on a disk.
func unnamedFile(name string, text []byte) (path string, err error) {
	fd, err := unix.MemfdCreate(name, 0)
	if err != nil {
		return "", fmt.Errorf("make a file in memory: %w", err)
	}
	path = "/proc/self/fd/" + strconv.Itoa(fd)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", errors.Join(err, unix.Close(fd))
	}
	return path, nil
}

// File returns a file with the kubeconfig.
func (x Access) File() (string, error) {
	text, err := clientcmd.Write(*x.Config)
	if err != nil {
		return "", err
	}
	return unnamedFile("kubeconfig", text)
}
