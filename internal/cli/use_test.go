package cli

import (
	"path/filepath"
	"testing"
)

// TestDescriptionThatIsDamaged is not said to be none: what is there is not to be overwritten.
func TestDescriptionThatIsDamaged(t *testing.T) {
	m := newMachine(t)
	m.write(m.paths.Spec(), `{"kind": "Clus`)
	m.lacksNothing()
	m.run("up").has(t, ExitInternal, `mullion: read "DATA/cluster.json": unexpected end of JSON input`)
}

// TestDataFolderOfTheFlag holds that the flag comes before the environment.
func TestDataFolderOfTheFlag(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.run("--data-dir", filepath.Join(m.paths.Data, "other"), "status").refused(t, ExitNotFound,
		`no cluster in "DATA/other"`, "bring one up with `mullion up`, or name its folder with --data-dir")
}

// TestSampleThatIsNotBuilt is told after the cluster is up, which it is.
func TestSampleThatIsNotBuilt(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	got := m.run("up", "--sample", "--kubeconfig", "none")
	got.has(t, ExitNotFound, `Cluster "mullion" is ready after`,
		"mullion: find the sample's image: stat BIN/webserver.tar: no such file or directory",
		"→ `make sample` builds it")
}
