package runner

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/conformance/result"
)

// maxNodeLines is how many lines of each log of a node are kept.
const maxNodeLines = 300

var (
	// klogTime is the time of a line that Kubernetes' programs log: I1121 08:15:02.123456
	klogTime = lazyregexp.New(`\b[IWEF](\d{4} \d{2}:\d{2}:\d{2}\.\d+)`)
	// slogTime is that of Mullion's own programs: time=2026-11-21T08:15:02.123Z
	slogTime = lazyregexp.New(`\btime=(\S+)`)
	// testNamespace is how a spec's output names its namespace.
	testNamespace = lazyregexp.New(`(?:namespace|Namespace) "?([a-z0-9-]+-\d+)"?`)
)

// nodeLogs returns lines that the programs of a spec's nodes logged while it ran: lines that name its namespace,
// warnings and errors.
func nodeLogs(s result.Spec, output string, files func(node string) []string) string {
	var namespaces []string
	for _, m := range testNamespace.FindAllStringSubmatch(output, -1) {
		namespaces = append(namespaces, m[1])
	}

	end := s.Start.Add(time.Duration(s.Seconds * float64(time.Second)))
	var b strings.Builder
	for _, node := range s.Nodes {
		for _, file := range files(node) {
			lines := logLines(file, s.Start, end, namespaces)
			if len(lines) == 0 {
				continue
			}

			fmt.Fprintf(&b, "==> %s of %s, %s to %s\n", filepath.Base(filepath.Dir(file)), node,
				s.Start.Format(time.TimeOnly), end.Format(time.TimeOnly))
			if n := len(lines) - maxNodeLines; n > 0 {
				fmt.Fprintf(&b, "(%d lines left out)\n", n)
				lines = lines[n:]
			}
			b.WriteString(strings.Join(lines, "\n") + "\n")
		}
	}

	return b.String()
}

// logLines returns the lines of a log between two times that contain one of the words or are warnings or worse. A log
// that cannot be read has none: it belongs to a removed node.
func logLines(file string, from, to time.Time, words []string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()

	var lines []string
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		line := strings.TrimRight(in.Text(), "\r")
		at, severe, ok := lineTime(line, from)
		if !ok || at.Before(from) || at.After(to) {
			continue
		}
		if severe || containsAny(line, words) {
			lines = append(lines, line)
		}
	}

	return lines
}

func containsAny(line string, words []string) bool {
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// lineTime returns the time of a line and whether it is a warning or worse. Kubernetes' programs leave the year and the
// zone out: the year is that of near, the zone the machine's.
func lineTime(line string, near time.Time) (at time.Time, severe, ok bool) {
	if m := klogTime.FindStringSubmatchIndex(line); m != nil {
		at, err := time.ParseInLocation("2006 0102 15:04:05.000000",
			fmt.Sprintf("%d %s", near.Local().Year(), line[m[2]:m[3]]), time.Local)
		return at, line[m[0]] != 'I', err == nil
	}
	if m := slogTime.FindStringSubmatch(line); m != nil {
		at, err := time.Parse(time.RFC3339Nano, m[1])
		return at, strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR"), err == nil
	}
	return time.Time{}, false, false
}
