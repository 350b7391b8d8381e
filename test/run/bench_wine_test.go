//go:build wine

package run

import (
	"bufio"
	"os/exec"
	"slices"
	"testing"
	"time"

	"mullion.dev/mullion/test/built"
)

// BenchmarkFirstOutput measures from the command to the first line of what the program says, with an engine:
//
//	go test -tags wine -run '^$' -bench FirstOutput -benchtime 10x ./test/run
func BenchmarkFirstOutput(b *testing.B) {
	if err := shared.up(built.Dir(b)); err != nil {
		b.Fatal(err)
	}

	first := func() time.Duration {
		began := time.Now()
		cmd := shared.command(b.Context(), shared.program())
		lines, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		return awaitLine(b, cmd, bufio.NewReader(lines), began)
	}
	first() // starts the engine
	var all []time.Duration
	for b.Loop() {
		all = append(all, first())
	}

	slices.Sort(all)
	b.ReportMetric(all[len(all)/2].Seconds(), "s/median")
	b.ReportMetric(all[len(all)-1].Seconds(), "s/worst")
}

// awaitLine runs a command and returns how long it took to say something.
func awaitLine(b *testing.B, cmd *exec.Cmd, lines *bufio.Reader, began time.Time) time.Duration {
	b.Helper()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := lines.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}
