package cli

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/spec"
)

// TestDataFolderOfTheFlag holds that the flag comes before the environment.
func TestDataFolderOfTheFlag(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Run("--data-dir", filepath.Join(m.Paths.Data, "other"), "status").Refused(t, exit.NotFound,
		`no cluster in "DATA/other"`, "bring one up with `mullion up`, or name its folder with --data-dir")
}

// TestFolderOfAnEngine holds that commands for clusters take the folder of Docker's engine for none, and change
// nothing.
func TestFolderOfAnEngine(t *testing.T) {
	m := newMachine(t)
	m.Describe(func(c *spec.Cluster) {
		*c = spec.NewDocker("mullion", "", netip.MustParsePrefix("10.217.0.0/24"), spec.Docker{Publish: "127.0.0.1"})
	})
	app := filepath.Join(filepath.Dir(m.Paths.Data), "app")
	m.Write(filepath.Join(app, "app.exe"), "MZ")

	const want = "data folder \"DATA\" holds Docker's engine, and no cluster: `mullion docker status --data-dir DATA`"
	for _, command := range []string{
		"up", "up --dry-run", "status", "stop", "down", "doctor", "explain nowhere", "logs", "logs kubelet/win-1",
		"kubectl get nodes", "kubeconfig", "export logs OUT", "collect",
		"node stop win-1", "node start win-1", "node exec docker -- cmd /c ver",
		"node cp docker:C:/x OUT", "hns ls win-1", "net test",
		"image load FILE", "image ls", "image rm x", "leave",
		"join --server 192.0.2.10:6443 --token abcdef.0123456789abcdef --ca-cert-hash sha256:" + strings.Repeat("0", 64),
		"node disk add win-1 --size 1G", "server --advertise-address 192.0.2.10", "token create", "token list", "diagnose",
	} {
		args := strings.Fields(strings.NewReplacer("FILE", filepath.Join(app, "app.exe"), "OUT", filepath.Join(app, "out")).Replace(command))
		got := m.Run(args...)
		if got.Code != exit.Conflict || !strings.Contains(got.Err, want) || got.Out != "" {
			t.Errorf("%s: exit code %d, said %s%s", command, got.Code, got.Out, got.Err)
		}
	}
}
