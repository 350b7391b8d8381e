// Package explain owns what is kept of Wine's diagnostic lines about a container's programs: that a pod asks for it,
// where it lies, its form, and what its lines mean. The container's first process writes it (package containerinit).
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Annotation is that of a pod which asks for it; its value is "true".
const Annotation = "mullion.dev/explain"

// Name is the file in a container's working folder. It has a line "COUNT TEXT" for each kind of line, and perhaps one
// "COUNT" for all further kinds. TEXT is Wine's line without the thread, with "#" for addresses and handles.
const Name = "explain"

// DebugFD is the Linux descriptor by which mullion-run.exe gets the pipe for the lines from the first process.
const DebugFD = 3

// maxFile is more than the first process writes. The folder is the container's, which may write anything there.
const maxFile = 1 << 20

// Met is a kind of line that programs met.
type Met struct {
	Count int    `json:"count"`
	Text  string `json:"text"`
}

// Read reads a file. more are the lines of further kinds. The error is os.ErrNotExist if Wine said nothing yet.
func Read(file string) (met []Met, more int, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, 0, errors.Join(err, fmt.Errorf("read %q: it is no regular file", file))
	}

	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, 0, fmt.Errorf("read %q: %w", file, err)
	}

	for line := range strings.Lines(strings.ToValidUTF8(string(text), "?")) {
		count, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.Atoi(count)
		switch {
		case err != nil || n < 0:
			return nil, 0, fmt.Errorf("read %q: the line %.80q is not understood", file, line)
		case text == "":
			more += n
		default:
			met = append(met, Met{n, text})
		}
	}

	return met, more, nil
}

// Finding says what programs met, in one line.
type Finding struct {
	// Library and Function are Windows' names, "" if the line does not say them.
	Library  string `json:"library,omitempty"`
	Function string `json:"function,omitempty"`
	// What says what of it Wine has not, or what went wrong.
	What string `json:"what"`
	// Class is "fixme" for what Wine has not, "err" for what went wrong, "end" for what ends a program.
	Class string `json:"class"`
	Count int    `json:"count"`
	// Row is the support row about it, if there is one: its name and note.
	Row string `json:"row,omitempty"`
}

func (f Finding) String() string {
	name := strings.TrimSpace(f.Library + " " + f.Function)
	times := "once"
	if f.Count != 1 {
		times = fmt.Sprintf("%d times", f.Count)
	}
	return fmt.Sprintf("%s: %s (met %s)", cmp.Or(name, "Wine"), f.What, times)
}

// Findings groups lines. libraries returns the libraries that export a function.
func Findings(met []Met, libraries func(function string) []string) []Finding {
	var out []Finding
	for _, m := range met {
		f := finding(m.Text, libraries)
		f.Count = m.Count
		same := slices.IndexFunc(out, func(o Finding) bool {
			return o.Library == f.Library && o.Function == f.Function && o.What == f.What && o.Class == f.Class
		})
		if same >= 0 {
			out[same].Count += f.Count
			continue
		}

		out = append(out, f)
	}

	order := []string{"end", "err", "fixme"}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Class), slices.Index(order, b.Class)),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Library+a.Function, b.Library+b.Function))
	})

	return out
}

// finding reads a line:
//
//	fixme:CHANNEL:FUNCTION (ARGUMENTS): TEXT
//	wine: Call from # to unimplemented function LIBRARY.FUNCTION, aborting
//
// https://gitlab.winehq.org/wine/wine/-/wikis/Debug-Channels
func finding(text string, libraries func(function string) []string) Finding {
	if _, name, ok := strings.Cut(text, " to unimplemented function "); ok {
		name = strings.TrimSuffix(name, ", aborting")
		dot := strings.LastIndexByte(name, '.')
		return Finding{
			Library: name[:max(dot, 0)], Function: name[dot+1:], Class: "end",
			What: "not implemented, and the program ended for it",
		}
	}

	class, rest, _ := strings.Cut(text, ":")
	if class == "wine" {
		return Finding{Class: "err", What: strings.TrimSpace(rest)}
	}

	channel, rest, _ := strings.Cut(rest, ":")
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end < 0 {
		end = len(rest)
	}

	function, rest := rest[:end], strings.TrimSpace(rest[end:])
	f := Finding{
		Class:    class,
		Function: function,
		What:     rest,
	}

	if owners := libraries(function); len(owners) > 0 {
		f.Library = owners[0]
	} else {
		f.Library = "Wine's " + channel
	}

	if f.What = said(rest); f.What == "" {
		f.What = "not implemented"
	}
	return f
}

// said returns a message without the arguments that most begin with, if something is said behind them.
func said(rest string) string {
	depth := 0
	for i, c := range rest {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}

		if (depth <= 0 && i > 0) || (depth == 0 && c != '(') {
			if rest[0] != '(' {
				return strings.TrimSpace(rest)
			}

			behind := strings.TrimLeft(rest[i+1:], ": ")
			switch behind {
			case "stub", "stub!", "":
				return "a stub: does nothing"
			case "semi-stub", "partial stub":
				return "partly implemented"
			}

			return behind
		}
	}

	return strings.TrimSpace(rest)
}
