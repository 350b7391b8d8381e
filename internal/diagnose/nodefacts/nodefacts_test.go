package nodefacts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/diagnose"
	"mullion.dev/mullion/internal/diagnose/nodefacts"
)

const printed = "==mullion-diagnose==hostname\r\nWIN-ABC\r\n" +
	"==mullion-diagnose==pods first\r\n7f3a-1\r\n7f3a-2\r\n" +
	"==mullion-diagnose==service kubelet \r\n\r\nSERVICE_NAME: kubelet \r\n        TYPE               : 10  WIN32_OWN_PROCESS  \r\n" +
	"        STATE              : 4  RUNNING \r\n                                (STOPPABLE)\r\n" +
	"==mullion-diagnose==service kube-proxy \r\n[SC] EnumQueryServicesStatus:OpenService FAILED 1060:\r\n" +
	"==mullion-diagnose==variables \r\n\r\nHKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment\r\n" +
	"    KUBE_NETWORK    REG_SZ    cbr0\r\n    Path    REG_EXPAND_SZ    C:\\Windows\\system32;C:\\Program Files\\x\r\n    N    REG_DWORD    0x1\r\n" +
	"==mullion-diagnose==networks \r\n{\"Name\":\"cbr0\",\"Type\":\"L2Bridge\",\"Subnets\":[{\"AddressPrefix\":\"10.244.1.0/24\"}]}\r\n" +
	"==mullion-diagnose==processes \r\n\"C:\\k\\kubelet.exe\" --v=2\r\n\r\n" +
	"==mullion-diagnose==file C:\\Program Files\\containerd\\cni\\conf\\10-flannel.conf \r\n{}\r\n" +
	"==mullion-diagnose==file C:\\k\\SourceVip.json \r\n==mullion-diagnose==pods last\r\n7f3a-2\r\n7f3a-3\r\n==mullion-diagnose==end\r\n"

func TestParse(t *testing.T) {
	got, whole := nodefacts.Parse(printed)
	want := diagnose.NodeFacts{
		Hostname:      "WIN-ABC",
		Networks:      []diagnose.HNSNetwork{{Name: "cbr0", Type: "L2Bridge", Subnets: []string{"10.244.1.0/24"}}},
		NetworksKnown: true,
		Processes:     []string{`"C:\k\kubelet.exe" --v=2`},
		Services:      map[string]string{"kubelet": "RUNNING"},
		Files:         map[string]string{`C:\Program Files\containerd\cni\conf\10-flannel.conf`: "{}"},
		PodFolders:    []string{"7f3a-2"},
		Variables:     map[string]string{"KUBE_NETWORK": "cbr0", "PATH": `C:\Windows\system32;C:\Program Files\x`},
	}

	if diff := cmp.Diff(want, got); diff != "" || !whole {
		t.Errorf("whole %v, (-want +got):\n%s", whole, diff)
	}
}

func TestParseOfParts(t *testing.T) {
	for name, tt := range map[string]struct {
		text            string
		networks, known int
	}{
		"nothing":          {"", 0, 0},
		"no mark":          {"Access is denied.\r\n", 0, 0},
		"no networks":      {"==mullion-diagnose==networks\r\n\r\n", 0, 1},
		"a list":           {"==mullion-diagnose==networks\r\n[{\"Name\":\"a\"},{\"Name\":\"b\"}]\r\n", 2, 1},
		"no such cmdlet":   {"==mullion-diagnose==networks\r\nGet-HnsNetwork : The term is not recognized\r\n", 0, 0},
		"JSON that is cut": {"==mullion-diagnose==networks\r\n[{\"Name\":\"a\"},", 0, 0},
		"hostile":          {"==mullion-diagnose==networks\r\n[[1]]\r\n==mullion-diagnose==\x00\xff", 0, 0},
	} {
		got, whole := nodefacts.Parse(tt.text)
		if len(got.Networks) != tt.networks || got.NetworksKnown != (tt.known == 1) || whole {
			t.Errorf("%s: %+v, whole %v", name, got, whole)
		}
	}
}

// TestCommandReads: what is run on a node of somebody else changes nothing, and fits into a command line.
func TestCommandReads(t *testing.T) {
	line := strings.Join(nodefacts.Command(), " ")
	for _, word := range []string{">", `"`, "del ", "remove-", "set-", "new-", "stop", "start-", "reg add", "\n"} {
		if strings.Contains(strings.ToLower(line), word) {
			t.Errorf("the command has %q in it: %s", word, line)
		}
	}
	const most = 8191 // of cmd.exe, in case a person tries it there
	if len(line) > most {
		t.Errorf("the command has %d characters, and may have %d", len(line), most)
	}
}
