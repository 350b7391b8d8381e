package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/spec"
)

func TestResolveVersions(t *testing.T) {
	bin := t.TempDir()
	for _, v := range []string{"v1.31.0", "v1.35.8", version.Kubernetes, "v1.99.0"} {
		if err := os.MkdirAll(filepath.Join(bin, "kubernetes", v), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	described := func(plane string, nodes ...string) spec.Cluster {
		c := spec.Cluster{KubernetesVersion: plane}
		for _, v := range nodes {
			c.Nodes = append(c.Nodes, spec.Node{Name: "n", KubernetesVersion: v})
		}
		return c
	}

	for _, tt := range []struct {
		have spec.Cluster
		want []string // of the control plane, then of the nodes
		err  string
	}{
		{described("", ""), []string{"", ""}, ""},
		{described("1.35", "", "v1.35.8"), []string{"v1.35.8", "", "v1.35.8"}, ""},
		{described("", "1.35"), []string{"", "v1.35.8"}, ""},
		{described("1.34"), nil, "find Kubernetes v1.34"},
		{described("", "1.34"), nil, "node n: find Kubernetes v1.34"},
		{described("1.35", version.Kubernetes), nil, "node n: a node of Kubernetes " + version.Kubernetes + " is newer"},
		{described("", "1.99"), nil, "is newer than the control plane, which is " + version.Kubernetes},
		{described("1.35", "1.31"), nil, "more than 3 minor versions older"},
	} {
		got, err := ResolveVersions(tt.have, bin)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v: %v, want %q", Versions(tt.have), err, tt.err)
			}
			if strings.Contains(tt.err, "find") != errors.Is(err, bundle.ErrNotThere) {
				t.Errorf("%v is of the wrong kind", err)
			}
			continue
		}

		versions := []string{got.KubernetesVersion}
		for _, n := range got.Nodes {
			versions = append(versions, n.KubernetesVersion)
		}

		if diff := cmp.Diff(tt.want, versions); err != nil || diff != "" {
			t.Errorf("%v: %v (-want +got):\n%s", Versions(tt.have), err, diff)
		}
	}

	old := described("v1.35.8", "v1.35.8")
	old.Nodes[0].OS, old.Nodes[0].Name = spec.Linux, "linux-1"
	if _, err := ResolveVersions(old, bin); err != nil {
		t.Error(err)
	}
	old.KubernetesVersion, old.Nodes[0].KubernetesVersion = "v1.20.15", ""
	if err := linuxNodesHave(old); err == nil || !strings.Contains(err.Error(), "Windows ones alone") {
		t.Errorf("a Linux node of 1.20: %v", err)
	}
	containerd := filepath.Join(bundle.At(bin, "v1.20.15").Server(), "containerd")
	err := errors.Join(os.MkdirAll(filepath.Dir(containerd), 0o755), os.WriteFile(containerd, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := linuxNodesHave(old, t.TempDir(), bin); err != nil {
		t.Errorf("a Linux node of 1.20 with a containerd of its bundle: %v", err)
	}

	if notes := VersionNotes(old); len(notes) != 2 {
		t.Errorf("what a cluster of 1.20 lacks: %q", notes)
	}
	if notes := VersionNotes(described("")); notes != nil {
		t.Errorf("a cluster of the version that Mullion comes with lacks %q", notes)
	}

	if err := takesTestServices(old.KubernetesVersion); err == nil || !strings.Contains(err.Error(), "v1.20.15") {
		t.Errorf("the network test in a cluster of 1.20: %v", err)
	}
	if err := errors.Join(takesTestServices(""), takesTestServices("v1.33.0")); err != nil {
		t.Errorf("the network test in a cluster of today: %v", err)
	}

	joined := described("", "1.99")
	joined.Join = &spec.Join{}
	if _, err := ResolveVersions(joined, bin); err != nil {
		t.Errorf("a machine that joined knows no control plane: %v", err)
	}

	joined = described("v1.34.9", "1.35", "v1.35.8")
	joined.Join = &spec.Join{}
	got, err := ResolveVersions(joined, bin)
	if diff := cmp.Diff([]string{"v1.35.8"}, Versions(got)); err != nil || diff != "" || got.KubernetesVersion != "v1.34.9" {
		t.Errorf("a machine whose nodes name their version needs the control plane's: %v, %s", err, diff)
	}

	joined.Nodes[0].KubernetesVersion = ""
	if _, err := ResolveVersions(joined, bin); !errors.Is(err, bundle.ErrNotThere) {
		t.Errorf("a node has the control plane's version, which is not there: %v", err)
	}
	if diff := cmp.Diff([]string{"", "v1.35.8"}, Versions(described("", "", "v1.35.8", "v1.35.8"))); diff != "" {
		t.Error(diff)
	}
}
