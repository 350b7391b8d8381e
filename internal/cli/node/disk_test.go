package node

import (
	"context"
	"fmt"
	"os"
	"testing"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// someDisks returns a raw disk, and one with a volume.
func someDisks() []hostdisk.Disk {
	return []hostdisk.Disk{
		{Number: 1, Name: "raw", Serial: "S1", Size: 1 << 30},
		{Number: 2, Name: "full", Serial: "S2", Size: 2 << 30, GUID: "g", ReadOnly: true, Partitions: []hostdisk.Part{
			{Number: 1, Type: "Reserved"},
			{
				Number: 2, Type: "Basic", Size: 2030 << 20, Free: 5 << 20, FileSystem: "NTFS", Label: "data",
				Paths: []string{"E:", `C:\mnt`},
			},
		}},
	}
}

func TestNodeDisk(t *testing.T) {
	for _, tt := range []struct {
		args        []string
		asked, said string
	}{
		{
			[]string{"add", "win-1", "--size", "1Gi", "--name", "raw"},
			"win-1 {attach 0 0 1073741824  raw <nil> <nil> false}",
			"node win-1 has disk 1, serial number S1\n",
		},
		{[]string{"grow", "win-1", "2", "--size", "3Gi"}, "win-1 {grow 2 0 3221225472   <nil> <nil> false}", ""},
		{[]string{"rm", "win-1", "2"}, "win-1 {detach 2 0 0   <nil> <nil> false}", ""},
		{
			[]string{"ls", "win-1"},
			"win-1 {get 0 0 0   <nil> <nil> false}",
			"DISK  PARTITION  SIZE    FREE  STATE           NAME  PATHS\n" +
				"1                1Gi           raw             raw   S1\n" +
				"2                2Gi           GPT, read-only  full  S2\n" +
				"2     2          2030Mi  5Mi   NTFS            data  E:, C:\\mnt\n",
		},
	} {
		t.Run(tt.args[0], func(t *testing.T) {
			m, asked := newMachine(t), ""
			m.calls.Disks = func(
				_ context.Context, _ layout.Paths, node string, r hostdisk.Request,
			) (hostdisk.Answer, error) {
				asked = fmt.Sprint(node, " ", r)
				return hostdisk.Answer{Disks: someDisks(), Number: 1}, nil
			}
			m.Run(append([]string{"node", "disk"}, tt.args...)...).Check(t, exit.OK, tt.said, "")
			if asked != tt.asked {
				t.Errorf("asked for %q, want %q", asked, tt.asked)
			}
		})
	}
}

func TestNodeDiskRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		args         []string
		err          error
		code         int
		what, remedy string
	}{
		"no-size": {
			[]string{"add", "win-1"},
			nil, exit.Usage,
			`--size "": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
			"for example: --size 10Gi",
		},
		"small": {
			[]string{"add", "win-1", "--size", "1Mi"},
			nil, exit.Usage,
			`--size "1Mi": a disk has from 320 MiB to 16 TiB`, "for example: --size 10Gi",
		},
		"no-number": {
			[]string{"rm", "win-1", "C:"},
			nil, exit.Usage,
			`"C:" is not the number of a disk`, "`mullion node disk ls NODE` shows the numbers",
		},
		"linux": {
			[]string{"ls", "linux-1"},
			cluster.ErrNotWindows, exit.Usage,
			"not a Windows node", "a Linux node has the machine's disks; name a Windows node",
		},
		"in-use": {
			[]string{"rm", "win-1", "1"},
			hostcall.Refusef(hostdisk.InUse, "in use"), exit.Conflict,
			"disks of node win-1: in use", "see `mullion node disk ls win-1`; what a pod uses goes with the pod",
		},
		"no-cluster": {
			[]string{"ls", "win-1"},
			os.ErrNotExist, exit.NotFound,
			`no cluster in "DATA"`, "bring one up with `mullion up`, or name its folder with --data-dir",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.calls.Disks = func(context.Context, layout.Paths, string, hostdisk.Request) (hostdisk.Answer, error) {
				return hostdisk.Answer{}, tt.err
			}
			m.Run(append([]string{"node", "disk"}, tt.args...)...).Refused(t, tt.code, tt.what, tt.remedy)
		})
	}
}

func TestReaderOfDisks(t *testing.T) {
	m := newMachine(t)
	m.ReadBy(clitest.Answers{
		"disks/{node}": clitest.Said(`{"disks": [{"number": 1, "size": 1073741824, "serial": "S1"}]}`),
	})
	m.Run("node", "disk", "ls", "win-1").Has(t, exit.OK, "1 ")
	m.Run("node", "disk", "rm", "win-1", "1").Has(t, exit.Requirement,
		"mullion: this needs root, as it changes the disks")
}
