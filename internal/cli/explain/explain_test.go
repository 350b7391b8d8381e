package explain

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/runtime/explain"
)

func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r)} }
	return m
}

func TestPrintExplained(t *testing.T) {
	found := []explain.Finding{
		{Library: "user32.dll", Function: "EndTask", What: "not implemented", Class: "end", Count: 1},
		{Library: "iphlpapi.dll", Function: "CreateIpForwardEntry2", What: "a \x1b[31mstub", Class: "fixme", Count: 3},
		{Library: "kernel32.dll", Function: "GetNumaAvailableMemoryNodeEx", What: "a stub: does nothing", Class: "fixme", Count: 2},
	}
	for i := range found {
		found[i].Row = rowAbout(found[i])
	}

	var b strings.Builder
	err := printExplained(&b, []explained{
		{Node: "win-1", Container: "app", ID: "0123456789abcdef", Findings: found, More: 7},
		{Node: "win-1", Container: "idle", ID: "1"},
		{Node: "win-2", Container: "off", ID: "2", Off: true},
	})

	const numa = "GetNumaAvailableMemoryNodeEx, GetNumaNodeProcessorMask2"
	want := `container app (0123456789abc) on win-1
  user32.dll EndTask: not implemented (met once)
  iphlpapi.dll CreateIpForwardEntry2: a ·[31mstub (met 3 times)
      mullion support: CreateIpForwardEntry2: Wine's iphlpapi.dll does not export it; CreateIpForwardEntry is there
  kernel32.dll GetNumaAvailableMemoryNodeEx: a stub: does nothing (met 2 times)
      mullion support: ` + numa + `: supported, Mullion answers in Wine's place
  and 7 lines of more kinds than are kept
container idle (1) on win-1
  Wine said nothing of its programs
container off (2) on win-2
  not asked for: make the pod with the annotation mullion.dev/explain: "true"
`

	if diff := cmp.Diff(want, b.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestReaderPods(t *testing.T) {
	m := newMachine(t)
	m.ReadBy(clitest.Answers{
		"explained": func(ask view.Ask, to io.Writer) error {
			_, err := fmt.Fprintf(to, `[{"node": "win-1", "containers": [{"ID": "1", "Name": "%s-%s", "Off": true}]}]`,
				ask.Option("namespace"), ask.Option("pod"))
			return err
		},
	})

	m.Run("explain", "web", "-n", "shop").Has(t, exit.OK, "container shop-web (1) on win-1")
}
