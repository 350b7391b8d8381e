package kubenode

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// Clients makes clients of the API server with the rights of single nodes.
type Clients struct {
	// Server is the API server's URL, CAFile the file of its authority (PEM).
	Server, CAFile string
	// Identities are the nodes' certificates, by the nodes' names.
	Identities map[string]Identity
}

// Client returns a client with the rights of one node.
func (c Clients) Client(node string) (kubeclient.Interface, error) {
	identity, ok := c.Identities[node]
	if !ok {
		return nil, fmt.Errorf("no node %q; there are %s", node,
			strings.Join(slices.Sorted(maps.Keys(c.Identities)), ", "))
	}
	ca, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, err
	}
	return identity.Client(c.Server, ca)
}
