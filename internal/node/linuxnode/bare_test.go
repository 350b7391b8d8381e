package linuxnode

import (
	"slices"
	"strings"
	"testing"
)

// A bare host has a container runtime and services, and nothing of Mullion's network or of Kubernetes that runs.
func TestBare(t *testing.T) {
	c := sample(t)
	c.Bare = true
	units, err := Units(c)
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, u := range units {
		names = append(names, u.ID().String())
	}

	want := []string{"host/" + c.Name, "containerd/" + c.Name, "services/" + c.Name}
	if !slices.Equal(names, want) {
		t.Errorf("units %v, want %v", names, want)
	}
	toml := c.ContainerdTOML()
	if strings.Contains(toml, "conf_template") || !strings.Contains(toml, `"/opt/cni/bin"`) {
		t.Errorf("its pods' network is not a person's:\n%s", toml)
	}

	h := c.Host()
	if !strings.HasPrefix(h.PATH(), "/opt/bin:/opt/mullion/services:/opt/mullion/kubernetes:") || h.Usr == "" {
		t.Errorf("PATH=%s, /usr kept in %q", h.PATH(), h.Usr)
	}
}
