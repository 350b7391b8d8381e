//go:build wine

package winapi

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns/netnstest"
)

// TestRouteScript runs a script of the form of the handbook's AddRoutes.ps1 on a host with the adapters of one, twice,
// and looks at the kernel's routes. With MULLION_SDN=FOLDER it runs AddRoutes.ps1 and helper.psm1 of that folder, which
// are https://github.com/microsoft/SDN/tree/master/Kubernetes/windows.
func TestRouteScript(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	ns := netnstest.New(t, "routes")
	inside := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + ns}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}

	for _, args := range []string{
		"link set lo up",
		"link add mgmt type veth peer name uplink", "link set mgmt alias vEthernet_(Ethernet)", "addr add 192.0.2.11/24 dev mgmt",
		"link add cbr0 type veth peer name bridge", "link set cbr0 alias vEthernet_(cbr0)", "addr add 10.244.1.2/24 dev cbr0",
		"link set mgmt up", "link set cbr0 up", "link set uplink up", "link set bridge up",
		"route add default via 192.0.2.1",
		// What leads to the other nodes' pods, so that the kernel takes routers with addresses of theirs.
		"route add 10.244.0.0/16 dev cbr0 scope link metric 9000", "route add 10.244.0.0/16 dev mgmt scope link metric 9001",
	} {
		words := strings.Fields(args)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "_", " ")
		}
		inside(append([]string{"ip"}, words...)...)
	}
	inside("sysctl", "-qw", "net.ipv4.ip_forward=1")

	p := newPrefix(t)
	p.copyShim(t, "powershell.exe", "pwsh.exe")
	for _, name := range []string{"netsh.exe", "hostname.exe"} {
		p.copyShim(t, "wintools.exe", name)
	}

	k := filepath.Join(p.dir, "drive_c/k")
	if err := os.Mkdir(k, 0o755); err != nil {
		t.Fatal(err)
	}
	folder := cmp.Or(os.Getenv("MULLION_SDN"), "testdata/routes")
	for _, name := range []string{"AddRoutes.ps1", "helper.psm1"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(k, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(k, "kubectl.exe"), "./testdata/kubectl")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kubectl.exe's stand-in: %v\n%s", err, out)
	}
	p.moveServer(t, ns)

	want := []string{
		"10.244.0.0/24 via 10.244.0.1 dev cbr0 metric 250", "10.244.0.0/24 via 10.244.0.1 dev mgmt metric 300",
		"10.244.1.0/24 dev mgmt scope link metric 300",
		"10.244.2.0/24 via 10.244.2.2 dev cbr0 metric 250", "10.244.2.0/24 via 10.244.2.2 dev mgmt metric 300",
		"198.51.100.7 via 192.0.2.1 dev mgmt",
	}

	for range 2 { // a second run finds its routes, and makes none twice
		run := p.command(t, "pwsh.exe", "-ExecutionPolicy", "Bypass", "-File", `C:\k\AddRoutes.ps1`, "-masterIp", "198.51.100.7")
		in := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + ns}, run.Args...)...)
		in.Env, in.Dir = append(run.Env, overrides+";netsh.exe,hostname.exe=n"), k
		var out, errs bytes.Buffer
		in.Stdout, in.Stderr = &out, &errs
		if err := in.Run(); err != nil || errs.Len() > 0 {
			t.Fatalf("the script: %v\n%s%s", err, out.String(), errs.String())
		}
		if folder == "testdata/routes" && !strings.Contains(out.String(), "Ok.") {
			t.Errorf("netsh did not say that the bridge's adapter forwards:\n%s", out.String())
		}

		var got []string
		for line := range strings.Lines(inside("ip", "route")) {
			words := strings.Fields(strings.ReplaceAll(line, " proto static", ""))
			if !strings.Contains(line, "proto kernel") && words[0] != "default" && words[0] != "10.244.0.0/16" {
				got = append(got, strings.Join(words, " "))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("the routes are\n%s\nwant\n%s\nthe script:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out.String())
		}
	}
}
