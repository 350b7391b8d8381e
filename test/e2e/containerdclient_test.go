//go:build cluster

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	crandom "github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/test/judge"
)

// TestFieldContainerdClient runs the tests of containerd's own client (integration/client of its module, cross-compiled
// and unmodified) on a Windows host, against upstream's containerd.exe and shim. The images that they pull come from a
// registry of the test's. Those that are known to fail are in testdata/containerd-client.yaml, with why.
func TestFieldContainerdClient(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"),
		program("containerd-windows/containerd-shim-runhcs-v1.exe", "containerd.exe", "containerd-windows"))

	table, err := os.ReadFile("testdata/containerd-client.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var known []judge.Known
	if err := yaml.UnmarshalStrict(table, &known); err != nil {
		t.Fatal(err)
	}

	if err := judge.Check(known); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t)

	suites := []hostSuite{
		{
			module: "cluster/containerd", pkg: "github.com/containerd/containerd/v2/integration/client",
			args: []string{"-no-daemon"},
		},
		{
			module: "cluster/containerd", pkg: "github.com/containerd/containerd/v2/plugins/snapshots/windows",
			args: []string{"-test.root"},
		},
		{module: "cluster/containerd", pkg: "github.com/containerd/containerd/v2/core/mount", args: []string{"-test.root"}},
		{module: "cluster/containerd", pkg: "github.com/Microsoft/go-winio/pkg/bindfilter"},
	}
	const gateway = "10.242.0.254" // the machine
	spec := filepath.Join(c.home, "cluster.yaml")
	text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-ctdtest\nnetworking:\n" +
		"  underlaySubnet: 10.242.0.0/24\n  podSubnet: 10.93.0.0/16\n  serviceSubnet: 10.193.0.0/16\n" +
		"nodes:\n- {os: windows, bare: true, windowsVersion: ltsc2022}\n"
	if err := os.WriteFile(spec, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { c.takeDown(t) })
	c.must(t, "up", "-f", spec, "--wait", "15m") // on a busy machine

	// What an image shares with another one is there before a test pulls it, which the tests do not expect.
	pause := indexOf(t, c.testImage(t, 5), "amd64", "arm64", "s390x")
	proxy, authority := c.serveAnyRegistry(t, gateway, map[string]v1.ImageIndex{
		"containerd/windows/nanoserver:ltsc2022": indexOf(t, c.testImage(t, 1)),
		"containerd/volume-copy-up:2.1":          indexOf(t, c.testImage(t, 3)),
		"pause:3.6":                              pause,
		"pause:3.10.2":                           pause,
		"e2e-test-images/busybox:1.29-2":         indexOf(t, nil, "amd64", "arm64", "s390x", "ppc64le"),
	})
	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "mkdir", `C:\test`)
	c.must(t, "node", "cp", authority, `win-1:C:\test\ca.crt`)
	c.must(t, "node", "exec", "win-1", "--", "certutil", "-addstore", "Root", `C:\test\ca.crt`)
	c.startContainerd(t, filepath.Join(c.bin, "containerd-windows"), `\\.\pipe\containerd-containerd-test`)

	ended, said := map[string]string{}, map[string]string{}
	for _, suite := range suites {
		run := c.runSuite(t, suite, `set HTTPS_PROXY=http://`+proxy+`&& set PATH=C:\containerd;%PATH%`, judge.Skip(known))
		maps.Copy(ended, run.Ended)
		maps.Copy(said, run.Said)
	}

	if err := judge.Keep(ended); err != nil {
		t.Error(err)
	}
	unknown, stale := judge.Compare(known, ended)
	for _, name := range unknown {
		t.Errorf("%s fails and is not in containerd-client.yaml:\n%s", name, judge.Tail(said[name], 25))
	}

	for _, name := range stale {
		t.Errorf("containerd-client.yaml says that %s fails; it does not (%s)", name, ended[name])
	}
}

// hostSuite is a package of tests that run as programs of the host.
type hostSuite struct {
	module, pkg string
	args        []string
	// testdata says that the tests read the files of the package's folder of this name.
	testdata bool
}

// runSuite compiles a package of tests and runs it on the host, in C:\test, after a line of cmd.exe.
func (c cluster) runSuite(t *testing.T, suite hostSuite, before, skip string) judge.Run {
	t.Helper()
	program := filepath.Join(t.TempDir(), path.Base(suite.pkg)+".test.exe")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program, suite.pkg)
	cmd.Dir = filepath.Join("../../upstream", suite.module)
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the tests of %s: %v\n%s", suite.pkg, err, out)
	}
	c.must(t, "node", "cp", program, `win-1:C:\test\`+filepath.Base(program))
	if suite.testdata {
		c.copyTestdata(t, suite)
	}

	// A batch file, whose quotation marks are cmd.exe's alone.
	line := before + "\r\ncd C:\\test\r\n" + filepath.Base(program) + " -test.v=test2json -test.timeout 20m"
	for _, arg := range suite.args {
		line += " " + arg
	}
	if skip != "" {
		line += ` "-test.skip=` + skip + `"`
	}
	script := filepath.Join(t.TempDir(), "run.cmd")
	if err := os.WriteFile(script, []byte("@echo off\r\n"+line+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(t, "node", "cp", script, `win-1:C:\test\run.cmd`)
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()

	out, runErr := c.mullion(ctx, t, "node", "exec", "win-1", "--", "cmd", "/c", `C:\test\run.cmd`)
	run, err := judge.Read(t.Context(), suite.pkg, strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	count := judge.Count(run.Ended)
	t.Logf("%s: %d passed, %d failed, %d skipped", suite.pkg, count["pass"], count["fail"], count["skip"])

	if count["pass"] == 0 {
		t.Errorf("no test passed: %v\n%s", runErr, judge.Tail(out, 40))
	}
	if !run.Whole {
		t.Errorf("the test program did not come to its end: %v\n%s", runErr, judge.Tail(out, 40))
	}
	return run
}

// copyTestdata copies the files of a package's testdata, without its folders, to the host.
func (c cluster) copyTestdata(t *testing.T, suite hostSuite) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", suite.pkg)
	cmd.Dir = filepath.Join("../../upstream", suite.module)
	cmd.Env = append(os.Environ(), "GOOS=windows")
	dir, err := cmd.Output()
	if err != nil {
		t.Fatalf("look for the folder of %s: %v", suite.pkg, err)
	}

	folder := filepath.Join(strings.TrimSpace(string(dir)), "testdata")
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "mkdir", `C:\test\testdata`)
	for _, file := range files {
		if file.Type().IsRegular() {
			c.must(t, "node", "cp", filepath.Join(folder, file.Name()), `win-1:C:\test\testdata\`+file.Name())
		}
	}
}

// clientFolders are where the tests look for what their daemon keeps.
const clientFolders = `root = 'C:\Program Files\containerd\root-test'
state = 'C:\Program Files\containerd\state-test'
`

// startContainerd puts upstream's programs on the host and has containerd run as a service at a pipe.
func (c cluster) startContainerd(t *testing.T, programs, pipe string) {
	t.Helper()
	const folder = `C:\containerd`
	config := filepath.Join(c.home, "config.toml")

	// The tests ask for a daemon all of whose plugins are there.
	const needsCRI = `"io.containerd.podsandbox.controller.v1.podsandbox", `
	text := strings.NewReplacer(`\\.\pipe\containerd-of-test`, pipe, `disabled_plugins = [`, `disabled_plugins = [`+needsCRI,
		"version = 3\n", "version = 3\n"+clientFolders).Replace(containerdConfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "mkdir", folder)
	for _, file := range []string{
		filepath.Join(programs, "containerd.exe"), filepath.Join(programs, "ctr.exe"),
		filepath.Join(programs, "containerd-shim-runhcs-v1.exe"), config,
	} {
		c.must(t, "node", "cp", file, `win-1:`+folder+`\`+filepath.Base(file))
	}

	c.must(t, "node", "exec", "win-1", "--", folder+`\containerd.exe`, "--config", folder+`\config.toml`, "--register-service")
	c.must(t, "node", "exec", "win-1", "--", "sc", "start", "containerd")
	poll(t, time.Minute, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "node", "exec", "win-1", "--", folder+`\ctr.exe`, "-a", pipe, "version")
		if err != nil {
			return fmt.Errorf("containerd does not answer: %w: %s", err, out)
		}
		return nil
	})
}

// testImage returns an image of a stand-in for the Windows base layer, and a file in each further layer.
func (c cluster) testImage(t *testing.T, layers int) v1.Image {
	t.Helper()
	folder, archive := t.TempDir(), filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(filepath.Join(folder, "image.txt"), []byte("of the image\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	config := filepath.Join(t.TempDir(), "image.yaml")
	text := "target: 'C:\\app'\nworkingDir: 'C:\\'\nuser: ContainerUser\ncmd: [cmd]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	c.must(t, "image", "build", folder, "-f", config, "-t", dockerImage, "--windows-version", "ltsc2022", "-o", archive)
	img, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	more, err := smallImage()
	if err != nil {
		t.Fatal(err)
	}

	added, err := more.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for range layers - 1 {
		if img, err = mutate.AppendLayers(img, added...); err != nil {
			t.Fatal(err)
		}
	}

	return img
}

// indexOf returns an index of an image for Windows, unless it is nil, and of one for each of other architectures of
// Linux, whose content is nobody else's.
func indexOf(t *testing.T, windows v1.Image, linux ...string) v1.ImageIndex {
	t.Helper()
	var all []mutate.IndexAddendum
	if windows != nil {
		config, err := windows.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mutate.IndexAddendum{Add: windows, Descriptor: v1.Descriptor{Platform: config.Platform()}})
	}

	for _, architecture := range linux {
		img, err := crandom.Image(1024, 1)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		config = config.DeepCopy()
		config.OS, config.Architecture = "linux", architecture
		if img, err = mutate.ConfigFile(img, config); err != nil {
			t.Fatal(err)
		}
		platform := &v1.Platform{OS: "linux", Architecture: architecture}
		if architecture == "arm64" {
			platform.Variant = "v8"
		}
		all = append(all, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform}})
	}

	return mutate.AppendManifests(empty.Index, all...)
}

// serveAnyRegistry serves a proxy for HTTPS at an address of the machine, which answers for every registry itself, and
// returns its address and the certificate of the authority by which it does. images are by their names.
func (c cluster) serveAnyRegistry(
	t *testing.T, address string, images map[string]v1.ImageIndex,
) (proxy, authority string) {
	t.Helper()
	store := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)))
	answers := deniesUnknown(store)
	plain := httptest.NewServer(store)
	defer plain.Close()

	for image, content := range images {
		ref, err := name.NewTag(strings.TrimPrefix(plain.URL, "http://") + "/" + image)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(ref, content); err != nil {
			t.Fatal(err)
		}
	}

	certificate, key := newAuthority(t)
	authority = filepath.Join(c.home, "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return certificateFor(hello.ServerName, certificate, key)
	}}

	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}

	tunnels := &tunnelListener{
		Listener: listener,
		accepted: make(chan net.Conn),
		closed:   make(chan struct{}),
	}

	inner := &http.Server{
		Handler:           answers,
		TLSConfig:         config,
		ReadHeaderTimeout: time.Minute,
	}
	outer := &http.Server{Handler: tunnels, ReadHeaderTimeout: time.Minute}
	go func() { _ = outer.Serve(listener) }()
	go func() { _ = inner.ServeTLS(tunnels, "", "") }()
	t.Cleanup(func() { _, _ = outer.Close(), inner.Close() })

	return listener.Addr().String(), authority
}

// deniesUnknown answers for a repository that is not there as Docker Hub does to whom it does not know: it may be
// somebody's (https://distribution.github.io/distribution/spec/api/#errors-2, DENIED).
func deniesUnknown(store http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks := strings.Contains(r.URL.Path, "/manifests/") || strings.HasSuffix(r.URL.Path, "/tags/list")
		if r.Method != http.MethodGet || !asks {
			store.ServeHTTP(w, r)
			return
		}

		answer := httptest.NewRecorder()
		store.ServeHTTP(answer, r)
		if answer.Code == http.StatusNotFound && strings.Contains(answer.Body.String(), "NAME_UNKNOWN") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied",`+
				`"detail":[{"Type":"repository","Action":"pull"}]}]}`)
			return
		}

		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = answer.Body.WriteTo(w)
	})
}

// tunnelListener has the connections that clients of a proxy ask for, whatever their destination is.
type tunnelListener struct {
	net.Listener
	accepted chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

func (l *tunnelListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hijacker, ok := w.(http.Hijacker)
	if !ok || r.Method != http.MethodConnect {
		http.Error(w, "only tunnels", http.StatusMethodNotAllowed)
		return
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}

	if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")); err != nil {
		_ = conn.Close()
		return
	}
	select {
	case l.accepted <- conn:
	case <-l.closed:
		_ = conn.Close()
	}
}

// Accept returns the next connection.
func (l *tunnelListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept; the proxy's own listener is closed by its server.
func (l *tunnelListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func newAuthority(t *testing.T) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registries of a test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	text, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}

	certificate, err := x509.ParseCertificate(text)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func certificateFor(server string, authority *x509.Certificate, key *ecdsa.PrivateKey) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{server},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	text, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}, nil
}
