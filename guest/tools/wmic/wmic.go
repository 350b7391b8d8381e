// Package wmic owns wmic.exe, which is Wine's with the output of Windows'.
package wmic

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"

	"mullion.dev/mullion/guest/tools/program"
)

// wmicFailed is the exit code if Wine's wmic cannot be run.
const wmicFailed = 1

// Run is Wine's own wmic (https://learn.microsoft.com/windows/win32/wmisdk/wmic), whose output is UTF-16 with a mark
// wherever it goes. That of Windows is so in a file only: in a pipe, from which programs read it, it is in the
// console's code page. Characters beyond ASCII become question marks there.
func Run(e program.Env, sys System, args []string) int {
	out := e.Stdout
	var said bytes.Buffer
	if sys.Piped() {
		e.Stdout = &said
	}
	code, err := sys.WMIC(e, args)
	if err == nil {
		_, err = io.WriteString(out, inConsolesPage(said.Bytes()))
	}
	if err != nil {
		e.Complain("wmic: %v", err)
		return wmicFailed
	}
	return code
}

// inConsolesPage is a text of UTF-16 with a mark as it is in the console's code page; another text stays as it is.
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
