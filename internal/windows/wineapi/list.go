package wineapi

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The list is text:
//
//	wine 8.0 10.0                the versions
//	!api-ms-win-core-x-l1-1 a -  an API set, and the library that it is in each version: "-" not known, "." none
//	@kernel32.dll 11             a library, and in which versions it is (1) or not (0)
//	#1-5,8 1-6                   its ordinals in each version
//	~2 -                         those of them that are stubs
//	33CreateFileW                a function, with the State in each version before its name

// ordinals are ranges of ordinals, both ends included.
type ordinals struct{ there, stubs [][2]uint32 }

func (o ordinals) state(n uint32) State {
	in := func(r [2]uint32) bool { return r[0] <= n && n <= r[1] }
	switch {
	case slices.ContainsFunc(o.stubs, in):
		return Stub
	case slices.ContainsFunc(o.there, in):
		return There
	}
	return NoFunction
}

// Write writes the list of several Wines, oldest first.
func Write(w io.Writer, wines []*Wine) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "wine")
	names, sets := map[string]bool{}, map[string]bool{}
	for _, one := range wines {
		fmt.Fprint(b, " ", one.Version)
		for name := range one.Libraries {
			names[name] = true
		}
		for name := range one.Sets {
			sets[name] = true
		}
	}

	fmt.Fprintln(b)
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		fmt.Fprint(b, "!", name)
		for _, one := range wines {
			host, known := one.Sets[name]
			switch {
			case !known:
				host = "-"
			case host == "":
				host = "."
			}
			fmt.Fprint(b, " ", host)
		}

		fmt.Fprintln(b)
	}

	for _, name := range slices.Sorted(maps.Keys(names)) {
		writeLibrary(b, name, wines)
	}

	return b.Flush()
}

func writeLibrary(b *bufio.Writer, name string, wines []*Wine) {
	var there strings.Builder
	all := []string{"#"}
	stubs := []string{"~"}
	functions := map[string]bool{}
	for i, one := range wines {
		l, ok := one.Libraries[name]
		there.WriteString(map[bool]string{false: "0", true: "1"}[ok])
		var every, bad []uint32
		for n, state := range l.Ordinals {
			every = append(every, n)
			if state == Stub {
				bad = append(bad, n)
			}
		}

		space := map[bool]string{false: "", true: " "}[i > 0]
		all, stubs = append(all, space+ranges(every)), append(stubs, space+ranges(bad))
		for f := range l.Functions {
			functions[f] = true
		}
	}

	fmt.Fprintf(b, "@%s %s\n%s\n%s\n", name, there.String(), strings.Join(all, ""), strings.Join(stubs, ""))
	for _, f := range slices.Sorted(maps.Keys(functions)) {
		for _, one := range wines {
			state := NoLibrary
			if l, ok := one.Libraries[name]; ok {
				state = max(NoFunction, l.Functions[f])
			}
			fmt.Fprint(b, int(state))
		}
		fmt.Fprintln(b, f)
	}
}

// ranges returns the text of numbers, "-" for none.
func ranges(ns []uint32) string {
	slices.Sort(ns)
	var out []string
	for i := 0; i < len(ns); {
		k := i
		for k+1 < len(ns) && ns[k+1] <= ns[k]+1 {
			k++
		}

		text := strconv.FormatUint(uint64(ns[i]), 10)
		if ns[k] > ns[i] {
			text += "-" + strconv.FormatUint(uint64(ns[k]), 10)
		}
		out = append(out, text)
		i = k + 1
	}

	if len(out) == 0 {
		return "-"
	}

	return strings.Join(out, ",")
}

func parseRanges(text string) (out [][2]uint32, err error) {
	if text == "-" {
		return nil, nil
	}

	for part := range strings.SplitSeq(text, ",") {
		from, to, both := strings.Cut(part, "-")
		if !both {
			to = from
		}

		var r [2]uint32
		for i, s := range []string{from, to} {
			n, err := strconv.ParseUint(s, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("ordinals %q: %w", text, err)
			}
			r[i] = uint32(n)
		}

		out = append(out, r)
	}

	return out, nil
}

// parse reads what Write has written.
func parse(text string) (*API, error) {
	a := &API{libraries: map[string]*library{}, sets: map[string][]set{}}
	var l *library
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}

		wrong := fmt.Errorf("read the list of Wine's functions: the line %.80q is not understood", line)
		words := strings.Split(line[1:], " ")
		switch first := line[0]; first {
		case 'w':
			a.versions = words[1:]
		case '!':
			for _, host := range words[1:] {
				a.sets[words[0]] = append(a.sets[words[0]], set{host != "-", strings.Trim(host, "-.")})
			}
			if len(words) != 1+len(a.versions) {
				return nil, wrong
			}

		case '@':
			if len(words) != 2 || len(words[1]) != len(a.versions) {
				return nil, wrong
			}
			l = newLibrary(words[1])
			a.libraries[words[0]] = l

		default:
			if l == nil || !l.line(first, line, words) {
				return nil, wrong
			}
		}
	}

	return a, nil
}

// newLibrary returns a library that is in the versions that have "1".
func newLibrary(versions string) *library {
	l := &library{functions: map[string]string{}, ordinals: make([]ordinals, len(versions))}
	for _, c := range versions {
		l.there = append(l.there, c == '1')
	}
	return l
}

// line reads a line about the library; ok is false if it is not understood.
func (l *library) line(first byte, line string, words []string) (ok bool) {
	n := len(l.there)
	if first >= '0' && first <= '3' && len(line) > n {
		l.functions[line[n:]] = line[:n]
		return true
	}
	if (first != '#' && first != '~') || len(words) != n {
		return false
	}

	for v, w := range words {
		rs, err := parseRanges(w)
		if err != nil {
			return false
		}
		if first == '#' {
			l.ordinals[v].there = rs
		} else {
			l.ordinals[v].stubs = rs
		}
	}

	return true
}
