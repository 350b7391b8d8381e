package text

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// Exit codes of find.
const (
	findFound = 0
	findNone  = 1
	findBad   = 2
)

// finding is what find was asked for
// (https://learn.microsoft.com/windows-server/administration/windows-commands/find).
type finding struct {
	invert, count, number, ignoreCase bool
	text                              string
	files                             []string
}

// Find prints the lines that hold a string.
func Find(e program.Env, args []string) int {
	f, wrong := parseFind(args)
	if wrong != "" {
		e.Complain("FIND: %s", wrong)
		return findBad
	}
	out := bufio.NewWriter(e.Stdout)
	defer out.Flush()

	if len(f.files) == 0 {
		count, err := f.scan(out, e.Stdin)
		return f.end(e, out, count, err)
	}

	code := findNone
	for _, name := range f.files {
		names := []string{name}
		if wildcard.Has(name) {
			names = wildcard.Expand(name, false)
		}
		if len(names) == 0 {
			e.Complain("File not found - %s", strings.ToUpper(name))
		}

		for _, n := range names {
			if f.file(e, out, n) == findFound {
				code = findFound
			}
		}
	}

	return code
}

// parseFind reads the arguments; wrong is what is wrong with them.
func parseFind(args []string) (f finding, wrong string) {
	text := false
	for _, a := range args {
		name, is := program.Option(a)
		switch {
		case !is || a[0] != '/':
			if text {
				f.files = append(f.files, a)
			} else {
				f.text, text = a, true
			}
			continue

		case name == "v":
			f.invert = true
		case name == "c":
			f.count = true
		case name == "n":
			f.number = true
		case name == "i":
			f.ignoreCase = true
		case strings.HasPrefix("offline", name) && len(name) >= len("off"): // files are never elsewhere
		default:
			return f, "Invalid switch"
		}
	}

	if !text {
		return f, "Parameter format not correct"
	}
	if f.ignoreCase {
		f.text = strings.ToLower(f.text)
	}
	return f, ""
}

// file searches one file, and prints its name before what it has.
func (f finding) file(e program.Env, out *bufio.Writer, name string) int {
	in, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		e.Complain("File not found - %s", strings.ToUpper(name))
		return findNone
	}

	if err == nil {
		defer in.Close()
		var info os.FileInfo
		if info, err = in.Stat(); err == nil && info.IsDir() {
			err = os.ErrPermission
		}
	}
	if err != nil {
		e.Complain("Access denied - %s", strings.ToUpper(name))
		return findNone
	}

	fmt.Fprintf(out, "\r\n---------- %s", strings.ToUpper(name))
	if !f.count {
		fmt.Fprint(out, "\r\n")
	}
	count, err := f.scan(out, in)
	if f.count {
		fmt.Fprint(out, ": ")
	}

	return f.end(e, out, count, err)
}

// end prints the number of lines, if that was asked for, and returns the exit code.
func (f finding) end(e program.Env, out *bufio.Writer, count int, err error) int {
	if f.count {
		fmt.Fprintf(out, "%d\r\n", count)
	}
	if err != nil {
		e.Complain("FIND: %v", err)
	}
	if count == 0 {
		return findNone
	}
	return findFound
}

// scan prints the lines that fit, and counts them. A line has at most a megabyte; a longer one is several.
func (f finding) scan(out io.Writer, in io.Reader) (count int, err error) {
	const longest = 1 << 20
	r := bufio.NewReaderSize(in, longest)
	for number := 1; ; number++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if err != nil && len(line) == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return count, err
		}

		text := strings.TrimRight(string(line), "\r\n")
		in := text
		if f.ignoreCase {
			in = strings.ToLower(in)
		}
		if (f.text != "" && strings.Contains(in, f.text)) == f.invert { // an empty string is in no line
			continue
		}

		count++
		switch {
		case f.count:
		case f.number:
			fmt.Fprintf(out, "[%d]%s\r\n", number, text)
		default:
			fmt.Fprintf(out, "%s\r\n", text)
		}
	}
}
