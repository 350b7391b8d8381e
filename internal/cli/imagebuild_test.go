package cli

import (
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestImageForNoNodeOfTheCluster(t *testing.T) {
	m := newMachine(t)
	m.describe(func(c *spec.Cluster) { c.Nodes = c.Nodes[:1] }) // the Linux node
	dir := filepath.Join(filepath.Dir(m.paths.Data), "app")
	m.write(filepath.Join(dir, "app.exe"), "MZ")
	m.run("image", "build", dir, "-t", "mullion.local/app:v1").refused(t, ExitNotFound,
		"the cluster has no windows node to load the image for", "write it to a file with --output")
	m.env.Environ = append(m.env.Environ, "SOURCE_DATE_EPOCH=yesterday")
	m.run("image", "build", dir, "-t", "mullion.local/app:v1").has(t, ExitUsage,
		"mullion: read SOURCE_DATE_EPOCH: ", "→ `mullion image build --help` describes image.yaml")
}
