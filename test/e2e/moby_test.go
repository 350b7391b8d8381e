//go:build cluster

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/test/judge"
)

// mobyPackage is a package of moby's integration tests, with those of its tests that are known to fail.
type mobyPackage struct {
	Package string        `json:"package"`
	Known   []judge.Known `json:"known,omitempty"`
}

// TestFieldMoby runs moby's integration tests (cross-compiled and unmodified) on a Windows host, against upstream's
// dockerd.exe with its own runtime and windowsfilter. The image that they run is one of Mullion's programs with the
// names of busybox's. Those that are known to fail are in testdata/moby.yaml, with why.
func TestFieldMoby(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if os.Getenv("E2E_DATA_DIR") != "" {
		t.Skip("the test has subnets of its own")
	}
	packages := mobyPackages(t)
	f := newFixture(t)
	programs, busybox := filepath.Join(f.bin, "docker-windows"), filepath.Join(f.bin, "e2e", "windows", "busybox.exe")
	for _, file := range []string{filepath.Join(programs, "dockerd.exe"), busybox} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("needs dockerd.exe and busybox.exe: make docker-windows e2e: %v", err)
		}
	}

	t.Cleanup(func() { f.takeDown(t) })
	f.bringUp(t, "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-moby\nnetworking:\n"+
		"  underlaySubnet: 10.243.0.0/24\n  podSubnet: 10.94.0.0/16\n  serviceSubnet: 10.194.0.0/16\n"+
		"nodes:\n- {os: windows, bare: true}\n", "--wait", "15m")
	f.dockerService(t, programs, "ltsc2025")
	f.loadBusybox(t, busybox)
	f.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "mkdir", `C:\test`)

	all := map[string]string{}
	for _, p := range packages {
		t.Run(strings.ReplaceAll(p.Package, "/", "."), func(t *testing.T) {
			run := f.runSuite(t, hostSuite{
				module: "test/moby", pkg: "github.com/moby/moby/v2/integration/" + p.Package,
			}, `set PATH=C:\docker;%PATH%&& set TEST_INTEGRATION_USE_GRAPHDRIVER=1&& set WINDOWS_BASE_IMAGE=`+dockerImage, judge.Skip(p.Known))
			for name, how := range run.Ended {
				all[p.Package+" "+name] = how
			}

			unknown, stale := judge.Compare(p.Known, run.Ended)
			for _, name := range unknown {
				t.Errorf("%s fails and is not in moby.yaml:\n%s", name, judge.Tail(run.Said[name], 25))
			}
			for _, name := range stale {
				t.Errorf("moby.yaml says that %s fails; it does not (%s)", name, run.Ended[name])
			}
		})
	}

	count := judge.Count(all)
	t.Logf("%d passed, %d failed, %d skipped", count["pass"], count["fail"], count["skip"])
	if err := judge.Keep(all); err != nil {
		t.Error(err)
	}
}

// mobyPackages reads the table.
func mobyPackages(t *testing.T) []mobyPackage {
	t.Helper()
	text, err := os.ReadFile("testdata/moby.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []mobyPackage
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if err := judge.Check(p.Known); err != nil {
			t.Fatal(err)
		}
	}

	return all
}

// busyboxNames are the names of busybox's by which moby's tests call it.
func busyboxNames() []string {
	return []string{
		"sh", "cat", "ls", "echo", "sleep", "true", "false", "touch", "rm", "mkdir", "env", "grep", "stat", "test", "[",
		"busybox",
	}
}

// loadBusybox gives dockerd.exe the image busybox.
func (f fixture) loadBusybox(t *testing.T, program string) {
	t.Helper()
	folder, home := t.TempDir(), t.TempDir()
	for _, dir := range []string{"bin", "tmp", "root"} { // which moby's tests count on
		if err := os.Mkdir(filepath.Join(folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range busyboxNames() {
		if err := os.Link(program, filepath.Join(folder, "bin", name+".exe")); err != nil {
			t.Fatal(err)
		}
	}

	config, archive := filepath.Join(home, "image.yaml"), filepath.Join(home, "busybox.tar")
	text := "target: 'C:\\'\nworkingDir: 'C:\\'\nuser: ContainerAdministrator\ncmd: [sh]\n" +
		"env: ['PATH=C:\\bin;C:\\Windows\\system32;C:\\Windows']\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f.must(t, "image", "build", folder, "-f", config, "-t", "busybox:latest", "--windows-version", "ltsc2025", "-o", archive)
	f.must(t, "node", "cp", archive, `win-1:C:\busybox.tar`)
	f.docker(t, 0, "Loaded image: busybox:latest", "load", "-i", `C:\busybox.tar`)
}
