// Package tar is tar.exe as Windows has it since build 17063: bsdtar, which makes, lists and unpacks tar archives,
// plain or compressed, and zip archives. kubectl cp calls it in containers. It has bsdtar's options that scripts use,
// its messages and its exit codes
// (https://man.freebsd.org/cgi/man.cgi?query=bsdtar&manpath=FreeBSD+13.1-RELEASE); an option that is not here is
// refused.
//
// Nothing is unpacked outside of the folder, or through a link that leads out of it. bsdtar's option -P, which would
// allow it, is refused.
package tar

import (
	"fmt"
	"io"
)

// version is what Windows Server 2022's tar says of itself.
const version = "bsdtar 3.5.2 - libarchive 3.5.2 zlib/1.2.5.f-ipp"

// Streams are the standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs tar with its arguments and returns its exit code: 0, or 1 if anything went wrong.
func Run(s Streams, args []string) int {
	c, err := parse(args)
	if err != nil {
		fmt.Fprintf(s.Err, "tar: %v\n", err)
		return 1
	}

	switch c.mode {
	case modeHelp:
		fmt.Fprint(s.Out, usage)
		return 0
	case modeVersion:
		fmt.Fprintln(s.Out, version)
		return 0
	}

	r := &run{Streams: s, command: c}
	do := r.read
	if c.mode == modeCreate {
		do = r.create
	}
	if err := do(); err != nil {
		r.complain("%v", err)
		return 1
	}

	if r.failed {
		r.complain("Error exit delayed from previous errors.")
		return 1
	}
	return 0
}

// run is one run of tar.
type run struct {
	Streams
	command
	// failed is set by what does not end the run at once.
	failed bool
	// stripped are the parts that were taken from the beginning of a name, each of which is said once.
	stripped map[string]bool
}

func (r *run) complain(format string, args ...any) { fmt.Fprintf(r.Err, "tar: "+format+"\n", args...) }

// fail says what went wrong with one file; the run goes on.
func (r *run) fail(name string, err error) {
	r.complain("%s: %v", name, err)
	r.failed = true
}

// message is an error in bsdtar's words.
type message string

func (m message) Error() string { return string(m) }

func says(format string, args ...any) error { return message(fmt.Sprintf(format, args...)) }
