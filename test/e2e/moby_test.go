//go:build cluster

package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/test/judge"
)

// mobyPackage is a package of moby's integration tests, with those of its tests that are known to fail.
type mobyPackage struct {
	Package  string        `json:"package"`
	Testdata bool          `json:"testdata,omitempty"`
	Known    []judge.Known `json:"known,omitempty"`
	// Snapshotter are those that are known to fail with containerd's snapshotter, and not else.
	Snapshotter []judge.Known `json:"snapshotter,omitempty"`
}

// mobyForm is a way to run dockerd.exe, of those in which upstream's jobs test it.
type mobyForm struct {
	name  string
	flags []string
	// env is what the tests are told of it, as lines of cmd.exe.
	env string
}

func mobyForms() []mobyForm {
	return []mobyForm{
		{name: "windowsfilter", env: "set TEST_INTEGRATION_USE_GRAPHDRIVER=1"},
		{
			name:  "snapshotter",
			flags: []string{"--feature", "embedded-containerd", "--feature", "containerd-snapshotter"},
			env:   "set TEST_INTEGRATION_CONTAINERD_EMBEDDED=1",
		},
	}
}

// TestFieldMoby runs moby's integration tests (cross-compiled and unmodified) on a Windows host, against upstream's
// dockerd.exe in one of two forms: with its own runtime and windowsfilter, or with containerd, which is part of it, and
// its snapshotter (MULLION_MOBY_FORM=snapshotter). The image that they run is one of Mullion's programs with the names
// of busybox's. Those that are known to fail are in testdata/moby.yaml, with why.
//
// With MULLION_JUDGE_LIST=FILE a package that has run whole is kept there, and a later run leaves it out: the test can
// be ended and taken up again.
func TestFieldMoby(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"),
		dockerProgram("dockerd.exe"),
		program("e2e/windows/busybox.exe", "busybox.exe", "e2e"),
		program("containerd-windows/containerd-shim-runhcs-v1.exe", "containerd's shim", "containerd-windows"))

	packages := mobyPackages(t)
	for _, form := range mobyForms() {
		t.Run(form.name, func(t *testing.T) {
			if want := cmp.Or(os.Getenv("MULLION_MOBY_FORM"), "windowsfilter"); form.name != want {
				t.Skipf("MULLION_MOBY_FORM=%s runs it", form.name)
			}
			newCluster(t).moby(t, form, packages)
		})
	}

	all, err := judge.Kept()
	if err != nil {
		t.Fatal(err)
	}
	count := judge.Count(all)
	t.Logf("kept: %d passed, %d failed, %d skipped", count["pass"], count["fail"], count["skip"])
}

// moby runs the packages of which no result is kept in one form.
func (c cluster) moby(t *testing.T, form mobyForm, packages []mobyPackage) {
	t.Helper()
	kept, err := judge.Kept()
	if err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(slices.Clone(packages), func(p mobyPackage) bool {
		for name := range kept {
			if strings.HasPrefix(name, form.name+" "+p.Package+" ") {
				t.Logf("%s has run, says %s", p.Package, os.Getenv(judge.ListVariable))
				return true
			}
		}
		return false
	})
	if len(left) == 0 {
		return
	}

	c.bringUp(t, "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-moby\nnetworking:\n"+
		"  underlaySubnet: 10.243.0.0/24\n  podSubnet: 10.94.0.0/16\n  serviceSubnet: 10.194.0.0/16\n"+
		"nodes:\n- {os: windows, bare: true}\n", "--wait", "15m")
	c.dockerService(t, filepath.Join(c.bin, "docker-windows"), "ltsc2025", form.flags...)
	const shim = "containerd-shim-runhcs-v1.exe"
	c.must(t, "node", "cp", filepath.Join(c.bin, "containerd-windows", shim), `win-1:C:\docker\`+shim)
	c.loadBusybox(t, filepath.Join(c.bin, "e2e", "windows", "busybox.exe"))
	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "mkdir", `C:\test`)

	for _, p := range left {
		t.Run(strings.ReplaceAll(p.Package, "/", "."), func(t *testing.T) { c.mobyPackage(t, form, p) })
	}
}

// mobyPackage runs a package in one form.
func (c cluster) mobyPackage(t *testing.T, form mobyForm, p mobyPackage) {
	t.Helper()
	known := p.Known
	if form.name == "snapshotter" {
		known = slices.Concat(known, p.Snapshotter)
	}
	run := c.runSuite(t, hostSuite{
		module: "test/moby", pkg: "github.com/moby/moby/v2/integration/" + p.Package, testdata: p.Testdata,
	}, "set PATH=C:\\docker;%PATH%\r\nset WINDOWS_BASE_IMAGE="+dockerImage+"\r\n"+form.env, judge.Skip(known))

	unknown, stale := judge.Compare(known, run.Ended)
	for _, name := range unknown {
		t.Errorf("%s fails and is not in moby.yaml:\n%s", name, judge.Tail(run.Said[name], 25))
	}
	for _, name := range stale {
		t.Errorf("moby.yaml says that %s fails; it does not (%s)", name, run.Ended[name])
	}

	if !run.Whole {
		return
	}
	ended := map[string]string{}
	for name, how := range run.Ended {
		ended[form.name+" "+p.Package+" "+name] = how
	}
	if err := judge.Keep(ended); err != nil {
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
		if err := judge.Check(slices.Concat(p.Known, p.Snapshotter)); err != nil {
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
func (c cluster) loadBusybox(t *testing.T, program string) {
	t.Helper()
	folder, home := t.TempDir(), t.TempDir()
	for _, dir := range []string{"bin", "tmp", "root"} { // which moby's tests count on
		if err := os.Mkdir(filepath.Join(folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hosts := filepath.Join(folder, "Windows", "System32", "drivers", "etc", "hosts") // which Windows' base images have
	err := os.MkdirAll(filepath.Dir(hosts), 0o755)
	if err == nil {
		err = os.WriteFile(hosts, []byte("# of the image\r\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
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
	c.must(t, "image", "build", folder, "-f", config, "-t", "busybox:latest", "--windows-version", "ltsc2025", "-o", archive)
	c.must(t, "node", "cp", archive, `win-1:C:\busybox.tar`)
	c.docker(t, 0, "Loaded image: busybox:latest", "load", "-i", `C:\busybox.tar`)
}
