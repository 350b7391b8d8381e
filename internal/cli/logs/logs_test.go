package logs

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster/view"
)

func TestLogs(t *testing.T) {
	m := newMachine(t)
	m.Run("logs", "etcd").Has(t, exit.NotFound, `mullion: no cluster in "DATA"`)
	m.Write(filepath.Join(m.Paths.Logs(), "etcd.log"), "one\ntwo\nthree\n")
	m.Write(filepath.Join(m.Paths.Logs(), "kubelet", "win-1.log"), "no end of line")
	m.Write(filepath.Join(m.Paths.Logs(), "notes.txt"), "")

	for args, want := range map[string]string{
		"etcd":                   "one\ntwo\nthree\n",
		"etcd --tail 2":          "two\nthree\n",
		"etcd --tail 0":          "",
		"etcd --tail 9":          "one\ntwo\nthree\n",
		"kubelet/win-1 --tail 1": "no end of line",
	} {
		m.Run(append([]string{"logs"}, strings.Fields(args)...)...).Check(t, exit.OK, want, "")
	}

	m.Run("logs", "wine").Refused(t, exit.NotFound, `no log of a component "wine"`, "there are: etcd, kubelet/win-1")
	m.Run("logs", "../cluster").Has(t, exit.NotFound, `mullion: no log of a component "../cluster"`)
}

func TestReaderLogs(t *testing.T) {
	m := newMachine(t)
	m.ReadBy(clitest.Answers{
		"logs": clitest.JSON([]string{"etcd", "kubelet/win-1"}),
		"logs/{part...}": func(ask view.Ask, to io.Writer) error {
			_, err := fmt.Fprintf(to, "%s tail %s follow %s\n", ask.Word("part"), ask.Option("tail"),
				ask.Option("follow"))
			return err
		},
	})

	m.Run("logs", "kubelet/win-1", "--tail", "3", "-f").Check(t, exit.OK, "kubelet/win-1 tail 3 follow true\n", "")
	m.Run("logs", "etcd").Check(t, exit.OK, "etcd tail -1 follow false\n", "")
	m.Run("logs", "none").Refused(t, exit.NotFound, `no log of a component "none"`, "there are: etcd, kubelet/win-1")
	m.Run("logs").Refused(t, exit.Usage, "name one of the cluster's parts", "there are: etcd, kubelet/win-1")
}
