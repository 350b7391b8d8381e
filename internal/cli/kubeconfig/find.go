package kubeconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Found is a context of a person's own that Merge has made.
type Found struct {
	// Path is the file that it is in, and Context its name.
	Path, Context string
	// Config has that context and no other.
	Config *clientcmdapi.Config
}

// Find finds the context that Merge has made for a cluster (its data folder) in the target's files. It returns false if
// there is none; an error is told only where a file that cannot be read may have it.
func Find(target Target, cluster string) (Found, bool, error) {
	var errs []error
	for _, path := range target.Paths {
		file, err := read(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("find the cluster in kubeconfig %q: %w", path, err))
			continue
		}

		for _, name := range slices.Sorted(maps.Keys(file.Contexts)) {
			if only := alone(file, name, cluster); only != nil {
				return Found{
					Path:    path,
					Context: name,
					Config:  only,
				}, true, nil
			}
		}
	}

	return Found{}, false, errors.Join(errs...)
}

// alone returns a configuration of one context, nil if not all of it is the cluster's.
func alone(file *clientcmdapi.Config, name, cluster string) *clientcmdapi.Config {
	x := file.Contexts[name]
	c, u := file.Clusters[x.Cluster], file.AuthInfos[x.AuthInfo]
	if c == nil || u == nil || ownerOf(x.Extensions) != cluster || ownerOf(c.Extensions) != cluster ||
		ownerOf(u.Extensions) != cluster {
		return nil
	}

	return &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{x.Cluster: c},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{x.AuthInfo: u},
		Contexts:       map[string]*clientcmdapi.Context{name: x},
		CurrentContext: name,
	}
}
