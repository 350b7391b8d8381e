// Package wmic owns wmic.exe (https://learn.microsoft.com/windows/win32/wmisdk/wmic): `get` and `list full` of the classes
// that WMI has here, in the formats of Windows' program. What else there is to be asked of it goes to Wine's own.
package wmic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"

	"mullion.dev/mullion/guest/tools/program"
)

// Exit codes: the program cannot do its work; an alias or a class is not known, as of Windows' program.
const (
	exitFailed  = 1
	exitUnknown = 44135
)

// Run carries out a line. Into a file Windows' program writes UTF-16 with a mark; in a pipe, from which programs read
// it, its output is in the console's code page. Characters beyond ASCII become question marks there.
func Run(e program.Env, sys System, args []string) int {
	r, err := parse(args)
	switch {
	case errors.Is(err, errOther):
		return runWines(e, sys, args)
	case err != nil:
		e.Complain("%v", err)
		return exitUnknown
	}

	found, err := sys.Query(r.namespace, r.query())
	if err != nil {
		e.Complain("Node - %s\r\nERROR:\r\nDescription = %v", sys.Computer(), err)
		return exitUnknown
	}
	if len(found) == 0 {
		e.Complain("No Instance(s) Available.")
		return 0
	}

	text := utf16.Encode([]rune("\ufeff" + r.print(sys.Computer(), found)))
	var out []byte
	for _, unit := range text {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}

	if sys.Output() != File {
		out = []byte(inConsolesPage(out))
	}
	if _, err := e.Stdout.Write(out); err != nil {
		e.Complain("wmic: %v", err)
		return exitFailed
	}
	return 0
}

// runWines runs Wine's own program, whose output is UTF-16 with a mark wherever it goes.
func runWines(e program.Env, sys System, args []string) int {
	out := e.Stdout
	var said bytes.Buffer
	if sys.Output() == Pipe {
		e.Stdout = &said
	}

	code, err := sys.WMIC(e, args)
	if err == nil {
		_, err = io.WriteString(out, inConsolesPage(said.Bytes()))
	}
	if err != nil {
		e.Complain("wmic: %v", err)
		return exitFailed
	}

	return code
}

// inConsolesPage returns a text of UTF-16 with a mark as it is in the console's code page; another text stays as it is.
func inConsolesPage(text []byte) string {
	rest, marked := bytes.CutPrefix(text, []byte{0xff, 0xfe})
	if !marked {
		return string(text)
	}
	var units []uint16
	for ; len(rest) > 1; rest = rest[2:] {
		units = append(units, binary.LittleEndian.Uint16(rest))
	}

	runes := utf16.Decode(units)
	const ascii = 0x7f
	for i, r := range runes {
		if r > ascii {
			runes[i] = '?'
		}
	}

	return string(runes)
}
