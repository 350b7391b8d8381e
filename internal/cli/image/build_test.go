package image

import (
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/spec"
)

func TestImageForNoNodeOfTheCluster(t *testing.T) {
	m := newMachine(t)
	m.Describe(func(c *spec.Cluster) { c.Nodes = c.Nodes[:1] }) // the Linux node
	dir := filepath.Join(filepath.Dir(m.Paths.Data), "app")
	m.Write(filepath.Join(dir, "app.exe"), "MZ")
	m.Run("image", "build", dir, "-t", "mullion.local/app:v1").Refused(t, exit.NotFound,
		"the cluster has no windows node to load the image for", "write it to a file with --output")
	m.Env.Environ = append(m.Env.Environ, "SOURCE_DATE_EPOCH=yesterday")
	m.Run("image", "build", dir, "-t", "mullion.local/app:v1").Has(t, exit.Usage,
		"mullion: read SOURCE_DATE_EPOCH: ", "→ `mullion image build --help` describes image.yaml")
}
