package collect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/diagnose/collect"
)

func TestFiles(t *testing.T) {
	got, whole := collect.Files("noise\r\n==mullion-diagnose==network.txt\r\n{}\r\n==mullion-diagnose==endpoint.txt\r\n\r\n" +
		"==mullion-diagnose==logs/kubelet.log\r\none\r\ntwo\r\n==mullion-diagnose==../../etc/passwd\r\nx\r\n==mullion-diagnose==end\r\n")
	want := map[string][]byte{"network.txt": []byte("{}\n"), "logs/kubelet.log": []byte("one\ntwo\n")}
	if diff := cmp.Diff(want, got); diff != "" || !whole {
		t.Errorf("whole %v, (-want +got):\n%s", whole, diff)
	}
	if got, whole := collect.Files("Access is denied."); len(got) > 0 || whole {
		t.Errorf("%v, whole %v", got, whole)
	}
}

// TestCommandReads: what is run on a node of somebody else changes nothing, and fits into a command line.
func TestCommandReads(t *testing.T) {
	line := strings.Join(collect.Command(), " ")
	for _, word := range []string{">", `"`, "del ", "remove-", "set-", "new-", "stop", "start-", "reg add", "\n"} {
		if strings.Contains(strings.ToLower(line), word) {
			t.Errorf("the command has %q in it: %s", word, line)
		}
	}
	const most = 8191 // of cmd.exe
	if len(line) > most {
		t.Errorf("the command has %d characters, and may have %d", len(line), most)
	}
}
