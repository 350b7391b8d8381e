//go:build wine

package winrun

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// webServerScript returns the script of the web server in Kubernetes' documentation, on another port: the rung's port
// 80 may be taken.
func webServerScript(t *testing.T, port int) string {
	t.Helper()
	data, err := os.ReadFile("../../examples/kubernetes-docs/win-webserver.yaml")
	if err != nil {
		t.Fatal(err)
	}

	_, deployment, _ := strings.Cut(string(data), "---\napiVersion: apps/v1")
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct{ Command []string }
				}
			}
		}
	}

	if err := yaml.Unmarshal([]byte("apiVersion: apps/v1"+deployment), &d); err != nil {
		t.Fatal(err)
	}
	command := d.Spec.Template.Spec.Containers[0].Command
	script := strings.ReplaceAll(command[len(command)-1], "$$", "$")
	return strings.ReplaceAll(script, "http://*:80/", fmt.Sprintf("http://*:%d/", port))
}

// freePort returns a port that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// testWebServer runs the web server of Kubernetes' documentation in powershell.exe, and asks it twice.
func testWebServer(t *testing.T, p prefix) {
	t.Helper()
	port := freePort(t)
	cmd := p.command(t, "--", "powershell.exe", "-command", webServerScript(t, port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the launcher, and the program that it has started
		_ = cmd.Wait()
	}()

	address := fmt.Sprintf("http://127.0.0.1:%d/", port)
	body := ""
	for n := 1; n <= 2; n++ {
		for end := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
			got, err := http.Get(address) // the test's own server
			if err == nil {
				all, readErr := io.ReadAll(got.Body)
				got.Body.Close()
				if body = string(all); readErr != nil || got.StatusCode != http.StatusOK {
					t.Fatalf("request %d: %s, %v", n, got.Status, readErr)
				}
				break
			}

			if time.Now().After(end) {
				t.Fatalf("request %d: %v\n%s", n, err, errs.String())
			}
		}

		form := fmt.Sprintf(`^<html><body><H1>Windows Container Web Server</H1><p>IP \S* callerCount %d </body></html>$`, n)
		if !regexp.MustCompile(form).MatchString(body) {
			t.Errorf("request %d: %q, want %s\n%s", n, body, form, errs.String())
		}
	}
}

// defaultRoutes returns the next hops of Linux' default routes of IPv4.
func defaultRoutes(t *testing.T) []string {
	t.Helper()
	table, err := os.ReadFile("/proc/net/route")
	if err != nil {
		t.Fatal(err)
	}

	var all []string
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 8 || fields[1] != "00000000" || fields[7] != "00000000" {
			continue
		}
		hop, err := hex.DecodeString(fields[2]) // the last byte first
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d.%d.%d.%d", hop[3], hop[2], hop[1], hop[0]))
	}

	return all
}

// testAdapters compares the addresses and routes that PowerShell shows with Linux' own, and asks for services.
func testAdapters(t *testing.T, p prefix) {
	t.Helper()
	want := map[string]bool{}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}

	for _, link := range links {
		addrs, err := link.Addrs()
		if err != nil {
			t.Fatal(err)
		}

		for _, a := range addrs {
			x, err := netip.ParsePrefix(a.String())
			if err == nil && link.Flags&net.FlagLoopback == 0 && x.Addr().Is4() {
				want[fmt.Sprintf("%s/%d Preferred", x.Addr(), x.Bits())] = true
			}
		}
	}

	got := p.run(t, "--", "powershell", "-c", "Get-NetAdapter | Get-NetIPAddress -AddressFamily IPv4 | "+
		`ForEach-Object { "$($_.IPAddress)/$($_.PrefixLength) $($_.AddressState)" }`)
	for line := range strings.Lines(got.out) {
		delete(want, strings.TrimSpace(line))
	}

	if got.code != 0 || len(want) > 0 {
		t.Errorf("not shown: %v in %+v", want, got)
	}
	got = p.run(t, "--", "powershell", "-c", `Get-NetRoute | ForEach-Object { "$($_.DestinationPrefix) $($_.NextHop)" }`)
	for _, route := range defaultRoutes(t) {
		if !strings.Contains(got.out, "0.0.0.0/0 "+route+"\n") {
			t.Errorf("the route by %s is not in %+v", route, got)
		}
	}

	if got := p.run(t, "--", "powershell", "-c", "(Get-Service PlugPlay).Name; Get-Service none"); got.code != 1 ||
		got.out != "PlugPlay\n" || !strings.Contains(got.err, "Cannot find any service") {
		t.Errorf("the services: %+v", got)
	}
	if got := p.run(t, "--", "powershell", "-c", "[Environment]::OSVersion.VersionString"); got.code != 0 ||
		!strings.HasPrefix(got.out, "Microsoft Windows NT 10.0.") {
		t.Errorf("the version: %+v", got)
	}
}
