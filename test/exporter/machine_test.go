//go:build wine

package exporter

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// machine holds texts of the kernel, taken at one time.
type machine struct {
	t                        *testing.T
	stat, meminfo, dev, disk string
}

func readMachine(t *testing.T) machine {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile("/proc/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	return machine{
		t:       t,
		stat:    read("stat"),
		meminfo: read("meminfo"),
		dev:     read("net/dev"),
		disk:    read("diskstats"),
	}
}

// line returns the numbers after the word that begins a line.
func (m machine) line(text, word string) []float64 {
	m.t.Helper()
	for one := range strings.Lines(text) {
		fields := strings.Fields(strings.Replace(one, ":", " ", 1))
		if len(fields) == 0 || fields[0] != word {
			continue
		}

		var numbers []float64
		for _, field := range fields[1:] {
			n, err := strconv.ParseFloat(field, 64)
			if err != nil {
				break
			}
			numbers = append(numbers, n)
		}

		return numbers
	}

	m.t.Fatalf("no line %q in:\n%s", word, text)
	return nil
}

// seconds of a processor: user, system and interrupts, idle; proc(5).
func (m machine) seconds(processor string) (user, kernel, idle float64) {
	m.t.Helper()
	const tick = 100
	v := m.line(m.stat, processor)
	return (v[0] + v[1]) / tick, (v[2] + v[5] + v[6]) / tick, (v[3] + v[4]) / tick
}

// bytes of /proc/meminfo.
func (m machine) bytes(word string) float64 {
	m.t.Helper()
	return m.line(m.meminfo, word)[0] * 1024
}

// adapters returns the names of the network's interfaces but for the loopback.
func (m machine) adapters() []string {
	var names []string
	for one := range strings.Lines(m.dev) {
		if name, _, ok := strings.Cut(strings.TrimSpace(one), ":"); ok && name != "lo" {
			names = append(names, name)
		}
	}
	return names
}
