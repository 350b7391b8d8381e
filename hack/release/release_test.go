package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/pgzip"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// fakeBin makes a folder of programs: scripts, and one that says of which modules it was built, this test.
func fakeBin(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	bin := t.TempDir()
	for _, name := range []string{
		"mullion", "mullion-node", "mullion-init", "mullion-pause", "mullion-nat", "mullion-vm", "kubectl-mullion", "containerd-shim-runc-v2", "runc",
		"coredns", "metrics-server", "webserver.tar", "win-webserver.yaml", "cni/ptp", "linux/agnhost",
		"windows/win-bridge.exe", "kubernetes/v1.36.3/node/bin/kubelet.exe",
		"kubernetes/v1.35.8/node/bin/kubelet.exe", "kubernetes/v1.20.0/node/bin/kubelet.exe", "windows/shim/pdh.dll", "windows/shim/ping.exe", "windows/shim/.obj/x.o",
		"e2e/windows/agnhost.exe", "e2e/windows/busybox.exe", "e2e/windows/consume-cpu.exe", "e2e/windows/resource-consumer.exe",
		"e2e/windows/windows_exporter.exe", "e2e/linux/agnhost", "e2e/linux/busybox", "e2e/linux/consume-cpu", "e2e/linux/resource-consumer",
		"e2e/data/localhost.crt", "e2e/data/kitten/index.html",
	} {
		file := filepath.Join(bin, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o755)
		if ext := filepath.Ext(name); ext == ".tar" || ext == ".yaml" || strings.HasPrefix(name, "e2e/data/") {
			mode = 0o600
		}

		if err := os.WriteFile(file, []byte("#!/bin/sh\necho \"$@\"\n"), mode); err != nil {
			t.Fatal(err)
		}
	}

	links := map[string]string{
		"containerd": self, "kubernetes/v1.36.3/server/bin/hyperkube": self, "kubernetes/v1.36.3/server/bin/kubelet": "hyperkube",
		"kubernetes/v1.35.8/server/bin/hyperkube": self, "e2e/e2e.test": self,
	}
	for _, p := range platforms() {
		links[filepath.Join("plugin", p.os+"-"+p.arch, p.program())] = self
	}

	for link, to := range links {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(bin, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(bin, link)); err != nil {
			t.Fatal(err)
		}
	}

	return bin
}

// fakeManual makes a folder with a manual page.
func fakeManual(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mullion.1"), []byte(".TH MULLION 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRelease(t *testing.T) {
	bin := fakeBin(t)
	var dists [2]string
	for i := range dists {
		dists[i] = t.TempDir()
		args := []string{"-version", "v1.2.3", "-kubernetes", "v1.36.3", "-others", "v1.35.8", "-time", "1750000000", "-bin", bin, "-man", fakeManual(t), "-root", "../..", "-dist", dists[i], "-url", "https://example.com/v1.2.3/"}
		if err := run(t.Context(), args); err != nil {
			t.Fatal(err)
		}
	}

	left, err := os.ReadDir(dists[0])
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(left))
	for i, f := range left {
		names[i] = f.Name()
	}

	if want := []string{
		"SHA256SUMS", "kubectl-mullion-1.2.3-darwin-amd64.tar.gz", "kubectl-mullion-1.2.3-darwin-arm64.tar.gz",
		"kubectl-mullion-1.2.3-linux-amd64.tar.gz", "kubectl-mullion-1.2.3-linux-arm64.tar.gz",
		"kubectl-mullion-1.2.3-windows-amd64.tar.gz", "kubectl-mullion-1.2.3-windows-arm64.tar.gz", "mullion-1.2.3-1.x86_64.rpm", "mullion-1.2.3-linux-amd64.tar.gz",
		"mullion-e2e-1.2.3-1.x86_64.rpm", "mullion-e2e-1.2.3-linux-amd64.tar.gz", "mullion-e2e_1.2.3_amd64.deb",
		"mullion-kubernetes-1.35-1.35.8+mullion1.2.3-1.x86_64.rpm", "mullion-kubernetes-1.35.8-linux-amd64.tar.gz",
		"mullion-kubernetes-1.35_1.35.8+mullion1.2.3_amd64.deb",
		"mullion-kubernetes-1.36-1.36.3+mullion1.2.3-1.x86_64.rpm", "mullion-kubernetes-1.36.3-linux-amd64.tar.gz",
		"mullion-kubernetes-1.36_1.36.3+mullion1.2.3_amd64.deb", "mullion.yaml", "mullion_1.2.3_amd64.deb",
	}; !slices.Equal(names, want) {
		t.Errorf("dist has %q, want %q", names, want)
	}

	for _, f := range left {
		a, errA := os.ReadFile(filepath.Join(dists[0], f.Name()))
		b, errB := os.ReadFile(filepath.Join(dists[1], f.Name()))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s is another one the second time (%v, %v)", f.Name(), errA, errB)
		}
	}

	files := untar(t, filepath.Join(dists[0], "mullion-1.2.3-linux-amd64.tar.gz"))
	for name, want := range map[string]string{
		"bin/mullion": "-> ../lib/mullion/mullion", "lib/mullion/mullion": "0755", "lib/mullion/webserver.tar": "0644", "share/man/man1/mullion.1.gz": "0644",
		"share/doc/mullion/README.md": "0644", "share/doc/mullion/docs/guide/nodes.md": "0644", // what messages name
		"lib/mullion/windows/shim/pdh.dll": "0755", "share/bash-completion/completions/mullion": "0644",
		"lib/mullion/windows/shim/.obj/x.o": "", "lib/mullion/e2e/e2e.test": "",
		"lib/mullion/kubernetes/v1.36.3/server/bin/hyperkube": "", // another parcel's
	} {
		if got := files["mullion-1.2.3-linux-amd64/"+name].what; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	bundle := untar(t, filepath.Join(dists[0], "mullion-kubernetes-1.36.3-linux-amd64.tar.gz"))
	const folder = "mullion-kubernetes-1.36.3-linux-amd64/"
	for name, want := range map[string]string{
		"lib/mullion/kubernetes/v1.36.3/server/bin/hyperkube": "0755",
		"lib/mullion/kubernetes/v1.36.3/server/bin/kubelet":   "-> hyperkube",
		"lib/mullion/kubernetes/v1.36.3/node/bin/kubelet.exe": "0755",
		"lib/mullion/kubernetes/v1.35.8/node/bin/kubelet.exe": "", // another bundle
		"share/doc/mullion-kubernetes-1.36/LICENSE":           "0644",
		"share/doc/mullion-kubernetes-1.36/THIRD-PARTY.txt":   "0644",
		"lib/mullion/mullion":                                 "",
	} {
		if got := bundle[folder+name].what; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	tests := untar(t, filepath.Join(dists[0], "mullion-e2e-1.2.3-linux-amd64.tar.gz"))
	for name, want := range map[string]string{
		"lib/mullion/e2e/e2e.test": "0755", "lib/mullion/e2e/windows/agnhost.exe": "0755", "lib/mullion/e2e/linux/busybox": "0755",
		"lib/mullion/e2e/data/kitten/index.html": "0644", "share/doc/mullion-e2e/LICENSE": "0644",
		"lib/mullion/e2e/windows/windows_exporter.exe": "", // a test of Mullion's own
	} {
		if got := tests["mullion-e2e-1.2.3-linux-amd64/"+name].what; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	materials(t, bundle[folder+"share/doc/mullion-kubernetes-1.36/sbom.spdx.json"].content)
	text := files["mullion-1.2.3-linux-amd64/share/doc/mullion/sbom.spdx.json"].content
	materials(t, text)
	const module = "github.com/klauspost/pgzip"
	if !strings.Contains(text, `"pkg:golang/`+module+`@`) ||
		!strings.Contains(files["mullion-1.2.3-linux-amd64/share/doc/mullion/THIRD-PARTY.txt"].content, "==== "+module) {
		t.Errorf("%s is not named, or its licence is not there", module)
	}

	// an RPM's header is not compressed
	if rpm, err := os.ReadFile(filepath.Join(dists[0], "mullion-1.2.3-1.x86_64.rpm")); err != nil || !bytes.Contains(rpm, []byte("Apache-2.0 AND BSD-2-Clause AND ")) {
		t.Errorf("the RPM does not say the licences of what it has (%v)", err)
	}

	// with exactly the bundle that mullion was built to come with
	depends := control(t, filepath.Join(dists[0], "mullion_1.2.3_amd64.deb"))
	if !strings.Contains(depends, "\nDepends: mullion-kubernetes-1.36 (= 1.36.3+mullion1.2.3), wine") {
		t.Errorf("the Debian package says\n%s", depends)
	}
	if says := control(t, filepath.Join(dists[0], "mullion-e2e_1.2.3_amd64.deb")); !strings.Contains(says, "\nDepends: mullion (= 1.2.3)\n") {
		t.Errorf("the package of the tests says\n%s", says)
	}

	says := control(t, filepath.Join(dists[0], "mullion-kubernetes-1.36_1.36.3+mullion1.2.3_amd64.deb"))
	if !strings.Contains(says, "\nVersion: 1.36.3+mullion1.2.3\n") || strings.Contains(says, "Depends:") {
		t.Errorf("the bundle's says\n%s", says)
	}
}

// TestPlugin checks the checker's tarballs and krew's manifest, which has their checksums.
func TestPlugin(t *testing.T) {
	dist := t.TempDir()
	r := release{
		version: "v1.2.3",
		url:     "https://example.com/v1.2.3",
		bin:     fakeBin(t),
		root:    "../..",
		dist:    dist,
	}

	files, err := r.plugins(t.TempDir())
	if err != nil || len(files) != 7 {
		t.Fatalf("%q, %v", files, err)
	}

	const folder = "kubectl-mullion-1.2.3-windows-arm64"
	tarball := filepath.Join(dist, folder+".tar.gz")
	packed := untar(t, tarball)
	for name, want := range map[string]string{
		"kubectl-mullion.exe": "0755", "LICENSE": "0644", "THIRD-PARTY.txt": "0644", "sbom.spdx.json": "0644",
	} {
		if got := packed[folder+"/"+name].what; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	if len(packed) != 4 {
		t.Errorf("the tarball has %d files", len(packed))
	}

	sum, err := sha256Of(tarball)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dist, "mullion.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	want := `  - selector:
      matchLabels:
        os: windows
        arch: arm64
    uri: https://example.com/v1.2.3/` + folder + `.tar.gz
    sha256: ` + sum + `
    bin: kubectl-mullion.exe
    files:
    - from: ` + folder + `/*
      to: .
`
	if !strings.HasSuffix(string(manifest), want) || strings.Count(string(manifest), "sha256:") != 6 {
		t.Errorf("the manifest is\n%s", manifest)
	}
}

// TestPluginWithoutURL checks that there is no manifest for krew if nobody says where the files will be.
func TestPluginWithoutURL(t *testing.T) {
	dist := t.TempDir()
	files, err := (release{
		version: "v1.2.3",
		bin:     fakeBin(t),
		root:    "../..",
		dist:    dist,
	}).plugins(t.TempDir())
	if err != nil || len(files) != 6 {
		t.Fatalf("%q, %v", files, err)
	}

	if _, err := (release{
		version: "v1.2.3",
		bin:     t.TempDir(),
		dist:    dist,
	}).plugins(t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "run make release") {
		t.Errorf("without programs: %v", err)
	}
}

// materials checks a bill of materials.
func materials(t *testing.T, text string) {
	t.Helper()
	var sbom v2_3.Document
	if err := json.Unmarshal([]byte(text), &sbom); err != nil {
		t.Fatal(err)
	}

	seen := map[string]bool{}
	for _, p := range sbom.Packages {
		if seen[string(p.PackageSPDXIdentifier)] {
			t.Errorf("two packages are %s", p.PackageSPDXIdentifier)
		}
		seen[string(p.PackageSPDXIdentifier)] = true
	}

	if len(seen) < 3 {
		t.Errorf("it names %v", seen)
	}
}

// control returns the control file of a Debian package: an archive of ar, in which control.tar.gz has it.
func control(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	for rest := bytes.TrimPrefix(data, []byte("!<arch>\n")); len(rest) > 60; {
		name, header := strings.Trim(string(rest[:16]), " /"), strings.Fields(string(rest[48:58]))
		size, err := strconv.Atoi(header[0])
		if err != nil || len(rest) < 60+size {
			t.Fatalf("%s: an entry of %v bytes, %v", file, header, err)
		}

		if name == "control.tar.gz" {
			made := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(made, rest[60:60+size], 0o600); err != nil {
				t.Fatal(err)
			}
			return "\n" + untar(t, made)["./control"].content
		}
		rest = rest[min(len(rest), 60+size+size%2):]
	}

	t.Fatalf("%s has no control.tar.gz", file)
	return ""
}

func TestReleaseIsRefused(t *testing.T) {
	bin := fakeBin(t)
	if err := os.Remove(filepath.Join(bin, "coredns")); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ args, words string }{
		{"-version 1.2 -kubernetes v1.36.3 -time 1", "-version vX.Y.Z"},
		{"-version v1.2.3 -time 1", "-kubernetes vX.Y.Z"},
		{"-version v1.2.3 -kubernetes v1.36.3", "-time"},
		{"-version v1.2.3 -kubernetes v1.36.3 -time 1 -others 1.35", "-others \"1.35\": each is a version"},
		{"-version v1.2.3 -kubernetes v1.36.3 -time 1 -others v1.36.2", "of another minor version"},
		{"-version v1.2.3 -kubernetes v1.36.3 -time 1 -bin " + bin, "coredns is not there: run make build sample"},
	} {
		dist := t.TempDir()
		err := run(t.Context(), append(strings.Fields(tt.args), "-dist", dist))
		if err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.words)
		}
		if left, err := os.ReadDir(dist); err != nil || len(left) != 0 {
			t.Errorf("%s leaves %v (%v)", tt.args, left, err)
		}
	}
}

type packed struct{ what, content string }

// untar reads a tarball: of each file the mode and the content, of a link where it leads.
func untar(t *testing.T, file string) map[string]packed {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	z, err := pgzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]packed{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}

		if h.Typeflag == tar.TypeSymlink {
			all[h.Name] = packed{what: "-> " + h.Linkname}
			continue
		}

		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = packed{fmt.Sprintf("%#o", h.Mode), string(content)}
	}
}
