package podnet

import (
	"fmt"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

// The connector follows from the configuration alone, and a plugin that others install comes first.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want connector
	}{
		{"no mode", Config{}, (*ownPlugin)(nil)},
		{"l2bridge", Config{Mode: spec.ModeL2Bridge}, (*ownPlugin)(nil)},
		{"l2tunnel", Config{Mode: spec.ModeL2Tunnel}, (*ownPlugin)(nil)},
		{"overlay", Config{Mode: spec.ModeOverlay}, (*ownPlugin)(nil)},
		{"nat", Config{Mode: spec.ModeNAT}, (*direct)(nil)},
		{"transparent", Config{Mode: spec.ModeTransparent}, (*direct)(nil)},
		{"dual stack", Config{Mode: spec.ModeL2Bridge, DualStack: true}, (*direct)(nil)},
		{"dual-stack overlay", Config{Mode: spec.ModeOverlay, DualStack: true}, (*direct)(nil)},
		{"others' plugin", Config{Installed: true}, (*installed)(nil)},
		{"others' plugin and nat", Config{Mode: spec.ModeNAT, Installed: true}, (*installed)(nil)},
		{"others' plugin and dual stack", Config{DualStack: true, Installed: true}, (*installed)(nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Drive, c.cfg.CacheDir = t.TempDir(), t.TempDir()
			n, err := New(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprintf("%T", n.way), fmt.Sprintf("%T", c.want); got != want {
				t.Errorf("pods are connected by %s, want %s", got, want)
			}
		})
	}
}
