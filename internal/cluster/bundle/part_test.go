package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster/bundle/bundletest"
	"mullion.dev/mullion/internal/spec"
)

// built returns the build information of a program of a main package in a module, with settings "KEY=VALUE".
func built(main, module, version string, settings ...string) debug.BuildInfo {
	info := debug.BuildInfo{Path: main, Main: debug.Module{Path: module, Version: version}}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		info.Settings = append(info.Settings, debug.BuildSetting{Key: key, Value: value})
	}
	return info
}

const (
	upstreams = "k8s.io/kubernetes/cmd/kubelet"
	module    = "k8s.io/kubernetes"
	noVersion = "FILE does not say its version, so it is not compared with the control plane's"
)

func TestCheckPart(t *testing.T) {
	hyperkube := built("example.org/hyperkube", "example.org/hyperkube", "(devel)")
	hyperkube.Deps = []*debug.Module{{Path: "k8s.io/api", Version: "v0.36.3"}, {Path: module, Version: "v1.36.3"}}
	replaced := built(upstreams, "example.org/all", "(devel)")
	replaced.Deps = []*debug.Module{{Path: module, Version: "v1.36.3", Replace: &debug.Module{Path: "../kubernetes"}}}
	const flags = "-ldflags=-s -w -X 'k8s.io/component-base/version.gitVersion=v1.35.8' -X k8s.io/component-base/version.gitMajor=1"
	for name, tt := range map[string]struct {
		info    debug.BuildInfo
		version string
		notes   []string
	}{
		"module":        {built(upstreams, module, "v1.36.3", "GOOS=SYSTEM", "GOARCH=amd64"), "v1.36.3", nil},
		"linker-first":  {built(upstreams, module, "v1.36.3", flags), "v1.35.8", nil},
		"old-linker":    {built(upstreams, module, "", "-ldflags=-X k8s.io/client-go/pkg/version.gitVersion=v1.33.0"), "v1.33.0", nil},
		"vcs":           {built(upstreams, module, "v1.37.0-alpha.1.0.20261101000000-0a1b2c3d4e5f+dirty"), "v1.37.0-alpha.1.0.20261101000000-0a1b2c3d4e5f+dirty", nil},
		"release":       {built(upstreams, module, "(devel)"), "", []string{noVersion}},
		"shallow-clone": {built(upstreams, module, "v0.0.0-20261101000000-0a1b2c3d4e5f"), "", []string{noVersion}},
		"linker-junk":   {built(upstreams, module, "", "-ldflags=-X k8s.io/component-base/version.gitVersion=newest"), "", []string{noVersion}},
		"replaced":      {replaced, "", []string{noVersion}},
		"own-main": {hyperkube, "v1.36.3", []string{
			"FILE is example.org/hyperkube, which has Kubernetes in it, and not upstream's k8s.io/kubernetes/cmd/kubelet",
		}},
		"files": {built("command-line-arguments", module, "v1.36.3"), "v1.36.3", []string{
			"FILE does not name its main package, so it is not checked that it is a kubelet",
		}},
		"no-modules": {debug.BuildInfo{}, "", []string{
			"FILE does not name its main package, so it is not checked that it is a kubelet", noVersion,
		}},
	} {
		for _, system := range []string{spec.Linux, spec.Windows} {
			t.Run(name+"/"+system, func(t *testing.T) {
				info := tt.info
				info.Settings = nil
				for _, s := range tt.info.Settings {
					s.Value = strings.ReplaceAll(s.Value, "SYSTEM", system)
					info.Settings = append(info.Settings, s)
				}

				file := filepath.Join(t.TempDir(), "k")
				if err := os.WriteFile(file, bundletest.Go(system, info), 0o755); err != nil {
					t.Fatal(err)
				}
				version, notes, err := CheckPart(file, "kubelet", system)
				for i, note := range notes {
					notes[i] = strings.ReplaceAll(note, file, "FILE")
				}

				if diff := cmp.Diff(tt.notes, notes); err != nil || version != tt.version || diff != "" {
					t.Errorf("version %q, want %q; %v; notes (-want +got):\n%s", version, tt.version, err, diff)
				}
			})
		}
	}
}

func TestCheckPartRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		system string // of the file
		info   debug.BuildInfo
		words  string
		wrong  bool // it is for another system, and not another program
	}{
		"kube-proxy": {spec.Linux, built("k8s.io/kubernetes/cmd/kube-proxy", module, "v1.36.3"), "is the program k8s.io/kubernetes/cmd/kube-proxy, and not a kubelet", false},
		"test":       {spec.Linux, built("k8s.io/kubernetes/pkg/kubelet.test", module, "v1.36.3"), "kubelet.test, and not a kubelet", false},
		"other":      {spec.Linux, built("example.org/tool", "example.org/tool", "v1.0.0"), "is the program example.org/tool", false},
		"freebsd":    {spec.Linux, built(upstreams, module, "v1.36.3", "GOOS=freebsd", "GOARCH=amd64"), "is a program for freebsd/amd64, and not a program for Linux", true},
		"arch":       {spec.Linux, built(upstreams, module, "v1.36.3", "GOOS=linux", "GOARCH=riscv64"), "is a program for linux/riscv64", true},
		"windows":    {spec.Windows, built(upstreams, module, "v1.36.3"), "is a program for Windows on x86-64", true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "k")
			if err := os.WriteFile(file, bundletest.Go(tt.system, tt.info), 0o755); err != nil {
				t.Fatal(err)
			}
			_, notes, err := CheckPart(file, "kubelet", spec.Linux)
			if err == nil || !strings.Contains(err.Error(), tt.words) || len(notes) > 0 {
				t.Errorf("%v, want %q; notes %q", err, tt.words, notes)
			}

			_, wrong := errors.AsType[*WrongProgramError](err)
			if _, other := errors.AsType[*OtherProgramError](err); wrong != tt.wrong || other == tt.wrong {
				t.Errorf("%v is of the wrong kind", err)
			}
		})
	}
}

// TestCheckPartOfWhatSaysNothing takes a program without build information, or with what is none, and says so.
func TestCheckPartOfWhatSaysNothing(t *testing.T) {
	whole := bundletest.Go(spec.Linux, built(upstreams, module, "v1.36.3"))
	for name, data := range map[string][]byte{
		"another-language": bundletest.Linux("hello"),
		"cut-off":          whole[:len(whole)-80],
		"only-a-beginning": whole[:64],
	} {
		file := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(file, data, 0o755); err != nil {
			t.Fatal(err)
		}
		version, notes, err := CheckPart(file, "kube-proxy", spec.Linux)
		want := []string{file + " has no build information of Go, so it is not checked that it is a kube-proxy, nor of which version"}
		if diff := cmp.Diff(want, notes); err != nil || version != "" || diff != "" {
			t.Errorf("%s: version %q, %v, notes (-want +got):\n%s", name, version, err, diff)
		}
	}
}
