package podnet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/podnet"
)

// plugin is a fake CNI plugin: it records its calls and gives every pod the same address.
type plugin struct{ asked []string }

func (p *plugin) Run(_ context.Context, program string, env []string, stdin []byte) ([]byte, error) {
	command := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "CNI_COMMAND="); ok {
			command = v
		}
	}
	if command == "VERSION" {
		return []byte(`{"cniVersion":"1.0.0","supportedVersions":["0.3.0","1.0.0"]}`), nil
	}

	marker := ""
	if strings.Contains(string(stdin), `"mark":"`) {
		_, rest, _ := strings.Cut(string(stdin), `"mark":"`)
		marker, _, _ = strings.Cut(rest, `"`)
	}
	p.asked = append(p.asked, fmt.Sprintf("%s %s %s", command, program, marker))
	return []byte(`{"cniVersion":"1.0.0","ips":[{"address":"10.244.1.3/24"}]}`), nil
}

// TestInstalled checks a host whose plugin others install: the plugin is used as soon as it is installed, with its own
// configuration, and disconnects the pods that it connected.
func TestInstalled(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "c", "etc", "cni", "net.d")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}

	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(conf, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	p := &plugin{}
	n, err := podnet.New(podnet.Config{
		HNS:       newHost(wire.Version{Major: 13, Minor: 2}),
		Exec:      p,
		Installed: true,
		Drive:     filepath.Join(dir, "c"),
		PinDir:    filepath.Join(dir, "pins"),
		CacheDir:  filepath.Join(dir, "cni"),
	})
	if err != nil {
		t.Fatal(err)
	}

	if err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24")...); err != nil { // no effect: others manage it
		t.Fatal(err)
	}
	if err := n.Ready(t.Context()); !errors.Is(err, podnet.ErrNoCNI) {
		t.Errorf("without a plugin: %v", err)
	}
	if _, err := n.Setup(t.Context(), podnet.Pod{ID: "early"}); !errors.Is(err, podnet.ErrNoCNI) {
		t.Errorf("a pod without a plugin: %v", err)
	}

	put("readme.txt", "no configuration")
	put("10-one.conf", `{"cniVersion":"1.0.0","name":"one","type":"win-bridge","mark":"one"}`)
	put("20-two.conflist", `{"cniVersion":"1.0.0","name":"two","plugins":[{"type":"sdnoverlay.exe","mark":"two"}]}`)
	if got := setup(t, n, "a"); got != "10.244.1.3" {
		t.Errorf("pod a has %s", got)
	}
	if err := os.Remove(filepath.Join(conf, "10-one.conf")); err != nil {
		t.Fatal(err)
	}

	setup(t, n, "b")
	for _, id := range []string{"a", "b", "early"} {
		if err := n.Teardown(t.Context(), podnet.Pod{ID: id}); err != nil {
			t.Fatal(err)
		}
	}

	const bin = `C:\opt\cni\bin\`
	want := "ADD " + bin + "win-bridge.exe one\nADD " + bin + "sdnoverlay.exe two\nDEL " + bin + "win-bridge.exe one\nDEL " + bin + "sdnoverlay.exe two"
	if got := strings.Join(p.asked, "\n"); got != want {
		t.Errorf("plugins were asked:\n%s\nwant:\n%s", got, want)
	}
}

// TestInstalledWrong checks invalid configurations: the node is not ready, the error names the file and the reason, and
// nothing hangs.
func TestInstalledWrong(t *testing.T) {
	for name, write := range map[string]func(path string) error{
		"no list": func(path string) error {
			return os.WriteFile(path, []byte(`{"name":"x","cniVersion":"1.0.0"}`),
				0o644)
		},
		"no JSON":    func(path string) error { return os.WriteFile(path, []byte("{"), 0o644) },
		"too large":  func(path string) error { return os.WriteFile(path, tooLarge(), 0o644) },
		"a pipe":     func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a folder":   func(path string) error { return os.Mkdir(path, 0o755) },
		"a way out":  func(path string) error { return os.Symlink("/etc/hosts", path) },
		"a dead end": func(path string) error { return os.Symlink("nothing", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			conf := filepath.Join(dir, "etc", "cni", "net.d")
			if err := errors.Join(os.MkdirAll(conf, 0o755), write(filepath.Join(conf, "10-x.conflist"))); err != nil {
				t.Fatal(err)
			}

			n, err := podnet.New(podnet.Config{
				Installed: true,
				Drive:     dir,
				CacheDir:  filepath.Join(dir, "cni"),
			})
			if err != nil {
				t.Fatal(err)
			}

			err = n.Ready(t.Context())
			if !errors.Is(err, podnet.ErrNoCNI) || !strings.Contains(err.Error(), `C:\etc\cni\net.d\10-x.conflist`) {
				t.Errorf("%v", err)
			}
		})
	}
}

func tooLarge() []byte { return []byte(strings.Repeat(" ", 1<<20+1)) }

// TestInstalledPipe: a pipe that a program of the host puts in the place of the folder of configurations holds nobody
// up.
func TestInstalledPipe(t *testing.T) {
	drive := t.TempDir()
	conf := filepath.Join(drive, "etc", "cni", "net.d")
	if err := errors.Join(os.MkdirAll(filepath.Dir(conf), 0o755), syscall.Mkfifo(conf, 0o600)); err != nil {
		t.Fatal(err)
	}

	ended := make(chan bool, 1)
	go func() { ended <- podnet.Configured(drive) }()
	select {
	case is := <-ended:
		if is {
			t.Error("a pipe is taken for a configuration")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the pipe")
	}
}
