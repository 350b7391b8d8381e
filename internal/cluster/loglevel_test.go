package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// TestSetLogLevelOfNobody: where nothing runs, the level is there for what starts; a folder that cannot be written is
// an error that says what it was for.
func TestSetLogLevelOfNobody(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir()}
	nodes := spec.Default([]string{"ltsc2022"}, false, "").WithDefaults().Nodes
	if err := SetLogLevel(t.Context(), paths, nodes, logging.Debug); err != nil {
		t.Fatal(err)
	}
	if level, err := logging.Load(paths.LogLevel()); err != nil || level != logging.Debug {
		t.Errorf("%s, %v", level, err)
	}

	paths.Data = filepath.Join(paths.Data, "file")
	if err := os.WriteFile(paths.Data, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := SetLogLevel(t.Context(), paths, nodes, logging.Debug)
	if err == nil || !strings.HasPrefix(err.Error(), "write the log level: ") {
		t.Errorf("%v", err)
	}
}
