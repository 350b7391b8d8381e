package podnet_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/spec"
)

// The host's programs may put anything in the place of the file with the source VIP.
func TestSourceVIPOfHostilePrograms(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	const answer = `{"ip4": {"ip": "10.244.1.2/24"}}`
	outside := filepath.Join(t.TempDir(), "answer.json")
	if err := os.WriteFile(outside, []byte(answer), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		put  func(file string) error
		good bool
	}{
		"file":             {func(file string) error { return os.WriteFile(file, []byte(answer), 0o600) }, true},
		"link to outside":  {func(file string) error { return os.Symlink(outside, file) }, false},
		"link to a device": {func(file string) error { return os.Symlink("/dev/zero", file) }, false},
		"pipe":             {func(file string) error { return syscall.Mkfifo(file, 0o600) }, false},
		"folder":           {func(file string) error { return os.Mkdir(file, 0o700) }, false},
		"more than a mebibyte": {
			func(file string) error {
				return os.WriteFile(file, []byte(answer+strings.Repeat(" ", 1<<20)), 0o600)
			}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			drive := t.TempDir()
			if err := os.Mkdir(filepath.Join(drive, "k"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.put(filepath.Join(drive, "k", "sourceVip.json")); err != nil {
				t.Fatal(err)
			}

			if vip, err := podnet.SourceVIP(drive); (err == nil) != c.good {
				t.Errorf("the source VIP is %v, %v", vip, err)
			}
		})
	}
}

// A folder of the host's drive that its programs made a link leads no file out of the drive.
func TestRangeOfHostilePrograms(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	for name, c := range map[string]struct {
		config podnet.Config
		folder string
	}{
		"configuration": {podnet.Config{Mode: spec.ModeL2Bridge}, "Program Files/containerd/cni"},
		"source VIP":    {podnet.Config{Mode: spec.ModeOverlay}, "k"},
	} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			r := newRig(t)
			n := r.open(t, c.config)
			folder := filepath.Join(r.dir, "c", c.folder)
			if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
				t.Fatal(err)
			}

			if err := os.Symlink(outside, folder); err != nil {
				t.Fatal(err)
			}

			if err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24")...); err == nil {
				t.Error("the range was written through a link out of the drive")
			}
			left, err := os.ReadDir(outside)
			if err != nil || len(left) != 0 {
				t.Errorf("outside of the drive are %v, %v", left, err)
			}
		})
	}
}
