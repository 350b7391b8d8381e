package cri

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

func TestTerminationMount(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		mounts     []string
		want       int
	}{
		{"none", "", []string{`C:\dev\termination-log`}, -1},
		{"no mounts", "/dev/termination-log", nil, -1},
		{"usual", "/dev/termination-log", []string{`C:\data`, "c:/dev/termination-log"}, 1},
		{"usual, as the kubelet writes it", "/dev/termination-log", []string{"c:/dev/termination-log"}, 0},
		{"of Windows", `C:\Logs\Last.txt`, []string{`c:\logs\last.txt`}, 0},
		{"another place", "/dev/termination-log", []string{`C:\dev\termination-log\below`}, -1},
		{"a volume at the same path", "/dev/termination-log", []string{`C:\dev\termination-log`, `C:\dev\termination-log`}, 1},
	} {
		config := &runtimeapi.ContainerConfig{Annotations: map[string]string{annotationTerminationPath: tt.path}}
		for _, m := range tt.mounts {
			config.Mounts = append(config.Mounts, &runtimeapi.Mount{ContainerPath: m})
		}
		if got := terminationMount(config); got != tt.want {
			t.Errorf("%s: mount %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestTerminationMessage: a container has a small file of its own, and the kubelet's gets the end of it, whatever the
// container has made of it meanwhile.
func TestTerminationMessage(t *testing.T) {
	for _, tt := range []struct {
		name string
		// do is what happens while the container runs; own is its file, kubelets the kubelet's.
		do      func(t *testing.T, own, kubelets string)
		want    string
		refused bool
	}{
		{name: "nothing said", do: func(*testing.T, string, string) {}},
		{
			name: "last words",
			do: func(t *testing.T, own, _ string) {
				t.Helper()
				writeFile(t, own, "out of paper")
			},
			want: "out of paper",
		},
		{
			name: "many words",
			do: func(t *testing.T, own, _ string) {
				t.Helper()
				writeFile(t, own, strings.Repeat("x", 3<<20)+"the end")
			},
			want: strings.Repeat("x", maxText-7) + "the end",
		},
		{
			name: "removed",
			do: func(t *testing.T, own, _ string) {
				t.Helper()
				remove(t, own)
			},
		},
		{
			name: "a link to a file of the machine",
			do: func(t *testing.T, own, _ string) {
				t.Helper()
				remove(t, own)
				if err := os.Symlink("/etc/passwd", own); err != nil {
					t.Fatal(err)
				}
			},
			refused: true,
		},
		{
			name: "a pipe that nobody writes to",
			do: func(t *testing.T, own, _ string) {
				t.Helper()
				remove(t, own)
				if err := syscall.Mkfifo(own, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			refused: true,
		},
		{
			name: "the kubelet has removed the pod",
			do: func(t *testing.T, own, kubelets string) {
				t.Helper()
				writeFile(t, own, "too late")
				if err := os.RemoveAll(filepath.Dir(kubelets)); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "the kubelet's file is a link now",
			do: func(t *testing.T, own, kubelets string) {
				t.Helper()
				writeFile(t, own, "root::0:0")
				remove(t, kubelets)
				victim := filepath.Join(filepath.Dir(kubelets), "victim")
				writeFile(t, victim, "")
				if err := os.Symlink(victim, kubelets); err != nil {
					t.Fatal(err)
				}
			},
			refused: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Server{cfg: Config{StateDir: t.TempDir()}}
			kubelets := filepath.Join(t.TempDir(), "pods", "42af")
			if err := os.Mkdir(filepath.Dir(kubelets), 0o755); err != nil {
				t.Fatal(err)
			}

			writeFile(t, kubelets, "")
			source, err := os.Open(kubelets)
			if err != nil {
				t.Fatal(err)
			}
			c := store.Container{ID: "one"}
			if err := os.MkdirAll(s.runDir(c), 0o755); err != nil {
				t.Fatal(err)
			}

			mounts := []engine.Mount{{Source: source}}
			c.TerminationLog, err = boundTermination(&runtimeapi.ContainerConfig{
				Annotations: map[string]string{annotationTerminationPath: "/dev/termination-log"},
				Mounts:      []*runtimeapi.Mount{{ContainerPath: "c:/dev/termination-log"}},
			}, mounts, s.runDir(c))
			if err != nil || c.TerminationLog != kubelets {
				t.Fatalf("the kubelet's file is %q, %v, want %q", c.TerminationLog, err, kubelets)
			}
			defer mounts[0].Source.Close()

			own := filepath.Join(s.runDir(c), terminationName)
			if info, err := mounts[0].Source.Stat(); err != nil || info.Mode().Perm() != 0o666 ||
				mounts[0].Source.Name() != own {
				t.Fatalf("mounted is %q, %v, %v", mounts[0].Source.Name(), info, err)
			}
			tt.do(t, own, kubelets)
			if err := s.passTermination(c); (err != nil) != tt.refused {
				t.Errorf("passing it on: %v, want an error: %t", err, tt.refused)
			}

			if got, err := os.ReadFile(kubelets); err == nil && string(got) != tt.want {
				t.Errorf("the kubelet reads %d bytes %.60q, want %d", len(got), got, len(tt.want))
			}
		})
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}
