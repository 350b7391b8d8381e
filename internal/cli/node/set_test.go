package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// sets answers for setting programs, and remembers what was asked.
func (m *machine) sets(running bool, err error) *[]string {
	var asked []string
	m.calls.SetProgram = func(_ context.Context, _ layout.Paths, p cluster.ProgramChange) (bool, error) {
		asked = append(asked, fmt.Sprintf("%s %s %s", p.Node, p.Part,
			strings.ReplaceAll(p.File, filepath.Dir(m.Paths.Data), "TMP")))
		return running, err
	}
	return &asked
}

// program writes a file to be set, and returns its path.
func (m *machine) program(name string) string {
	path := filepath.Join(filepath.Dir(m.Paths.Data), name)
	m.Write(path, "MZ")
	return path
}

func TestNodeSet(t *testing.T) {
	for name, tt := range map[string]struct {
		args    []string
		running bool
		asked   string
		said    string
	}{
		"one": {
			[]string{"win-1", "--kubelet", "a.exe"},
			true, "win-1 kubelet TMP/a.exe",
			"kubelet of node win-1 is a copy of TMP/a.exe, ready after N.Ns\n",
		},
		"both": {
			[]string{"win-1", "--kubelet", "a.exe", "--kube-proxy", "b.exe"},
			false,
			"win-1 kubelet TMP/a.exe, win-1 kube-proxy TMP/b.exe",
			"kubelet of node win-1 is a copy of TMP/a.exe, from the next `mullion up` on\n" +
				"kube-proxy of node win-1 is a copy of TMP/b.exe, from the next `mullion up` on\n",
		},
		"default": {
			[]string{"linux-1", "--default"},
			true, "linux-1 kube-proxy ",
			"kube-proxy of node linux-1 is upstream's again, ready after N.Ns\n",
		},
		"default-already": {
			[]string{"win-1", "--default"}, true, "", "node win-1 has upstream's kubelet and kube-proxy already\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(nil)
			m.Write(filepath.Join(m.Paths.Node("linux-1"), "own", "kube-proxy"), "")
			asked := m.sets(tt.running, nil)
			for i, arg := range tt.args {
				if strings.HasSuffix(arg, ".exe") {
					tt.args[i] = m.program(arg)
				}
			}

			got := m.Run(append([]string{"node", "set"}, tt.args...)...)
			got.Out = clitest.Untimed(got.Out)
			got.Check(t, exit.OK, tt.said, "")
			if all := strings.Join(*asked, ", "); all != tt.asked {
				t.Errorf("asked for %q, want %q", all, tt.asked)
			}
		})
	}
}

// TestNodeSetWarns says what is to be known of a program that it takes.
func TestNodeSetWarns(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.calls.SetProgram = func(_ context.Context, _ layout.Paths, p cluster.ProgramChange) (bool, error) {
		p.Said(p.File + " does not say its version")
		return false, nil
	}
	m.Run("node", "set", "win-1", "--kubelet", m.program("a.exe")).Check(t, exit.OK,
		"kubelet of node win-1 is a copy of TMP/a.exe, from the next `mullion up` on\n",
		"warning: TMP/a.exe does not say its version\n")
}

func TestNodeSetRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		args         string
		err          error
		code         int
		what, remedy string
	}{
		"nothing": {
			"win-1", nil, exit.Usage, "`mullion node set` takes --kubelet, --kube-proxy or --default",
			"for example: mullion node set win-1 --kubelet ./kubelet.exe",
		},
		"both-ways": {
			"win-1 --default --kubelet FILE", nil, exit.Usage, "--default and a program of your own exclude each other",
			"set the program, or leave it out; see `mullion node set --help`",
		},
		"no-file": {
			"win-1 --kubelet /nowhere/k.exe", nil, exit.Usage, "read the program: stat /nowhere/k.exe: no such file or directory",
			"name a program that you have built",
		},
		"no-node": {"win-9 --kubelet FILE", nil, exit.NotFound, `no node "win-9"; there are linux-1, win-1`, ""},
		"no-proxy": {
			"win-1 --kube-proxy FILE", fmt.Errorf("set the kube-proxy of node win-1: %w", cluster.ErrNoSuchPart), exit.Usage,
			"set the kube-proxy of node win-1: the node has none",
			"it has none with kubeProxyMode none, in modes nat and transparent, and on Windows Server 2016, 1709 and 1803",
		},
		"wrong": {
			"win-1 --kubelet FILE",
			&bundle.WrongProgramError{
				File:   "k",
				Is:     "a program for Linux on x86-64",
				System: spec.Windows,
			}, exit.Usage,
			"k is a program for Linux on x86-64, and not a program for Windows on x86-64",
			"build kubelet.exe for windows/amd64: GOOS=windows GOARCH=amd64",
		},
		"other": {
			"win-1 --kube-proxy FILE",
			&bundle.OtherProgramError{
				File: "k",
				Is:   "example.org/tool",
				Part: "kube-proxy",
			}, exit.Usage,
			"k is the program example.org/tool, and not a kube-proxy",
			"name a kube-proxy: a build of k8s.io/kubernetes/cmd/kube-proxy",
		},
		"not-ready": {
			"win-1 --kubelet FILE",
			&cluster.NotReadyError{
				Part:   "kubelet",
				Node:   "win-1",
				Former: true,
				Err:    errors.New("unknown flag"),
			}, exit.NotReady,
			"kubelet of node win-1 is not ready with that program, and has its former one again: unknown flag",
			"see `mullion logs kubelet/win-1 --tail 50`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(nil)
			m.sets(true, tt.err)
			args := strings.Fields("node set " + strings.ReplaceAll(tt.args, "FILE", m.program("k.exe")))
			m.Run(args...).Refused(t, tt.code, tt.what, tt.remedy)
		})
	}

	m := newMachine(t)
	m.Run("node", "set", "win-1", "--default").Refused(t, exit.NotFound, `no cluster in "DATA"`,
		"bring one up with `mullion up`, or name its folder with --data-dir")
	m.Env.Euid = 1000
	m.Run("node", "set", "win-1", "--default").Has(t, exit.Requirement, "mullion: this needs root, as it puts a program into a node's host: sudo ")
}
