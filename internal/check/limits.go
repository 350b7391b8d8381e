package check

import (
	"fmt"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/check/manifest"
)

// Bounds of what is judged, and of what is said of it. What is checked is the work of strangers.
const (
	mostDocuments = 100_000 // of a stream
	mostOfFile    = 5_000   // findings, and faults, that are listed of one file
	mostOfAll     = 25_000  // the same of a run; code scanning services take no more results of one
)

// Bounds of each value, in bytes. A name of Kubernetes has 253 at most, a kind 63.
const (
	mostOfName    = 300
	mostOfMessage = 1000
)

const remedyUnlisted = "mend those, and check again"

// Unlisted counts findings and faults that are not listed.
type Unlisted struct {
	Findings   map[Severity]int
	Suppressed int
	Faults     int
}

// add counts a finding.
func (u *Unlisted) add(f *Finding) {
	if f.Suppressed != "" {
		u.Suppressed++
		return
	}
	if u.Findings == nil {
		u.Findings = map[Severity]int{}
	}
	u.Findings[f.Severity]++
}

// Any reports whether anything is not listed.
func (u *Unlisted) Any() bool { return len(u.Findings) > 0 || u.Suppressed+u.Faults > 0 }

// limit leaves out what no file may have. Those that are ignored have a limit of their own, because most reports do
// not show them.
func (r *Result) limit() { r.keepMost(mostOfFile, mostOfFile, mostOfFile) }

// keepMost keeps so many findings, ignored findings and faults, and counts the rest.
func (r *Result) keepMost(findings, ignored, faults int) {
	if len(r.Findings) > min(findings, ignored) {
		kept := r.Findings[:0]
		for i := range r.Findings {
			f := &r.Findings[i]
			left := &findings
			if f.Suppressed != "" {
				left = &ignored
			}
			if *left--; *left < 0 {
				r.Unlisted.add(f)
				continue
			}

			kept = append(kept, *f)
		}

		clear(r.Findings[len(kept):])
		r.Findings = kept
	}

	if len(r.Faults) > faults {
		r.Unlisted.Faults += len(r.Faults) - faults
		r.Faults = r.Faults[:faults]
	}
}

// tooManyDocuments returns the result of the first document that is not judged.
func tooManyDocuments(file string, line int) Result {
	return Result{File: file, Faults: []manifest.Fault{{
		Pos:     manifest.Pos{Line: line, Column: 1},
		Fatal:   true,
		Message: fmt.Sprintf("the file has more than %d documents, of which no more are read", mostDocuments),
		Remedy:  "check it in parts",
	}}}
}

// Listing bounds what a run says: of each file, of all, and of each value that somebody else wrote. What it leaves out
// it counts, and says so once for each file, and once for the run.
type Listing struct {
	files map[string]*listed
	all   listed
	full  bool // it was said of the run
}

// listed is how many were listed.
type listed struct {
	findings, ignored, faults int
	full                      bool // it was said of the file
}

// Bounded returns the result as it is listed.
func (l *Listing) Bounded(r Result) Result {
	if l.files == nil {
		l.files = map[string]*listed{}
	}
	file := l.files[r.File]
	if file == nil {
		file = &listed{}
	}

	left := func(most int, n listed) (findings, ignored, faults int) {
		return most - n.findings, most - n.ignored, most - n.faults
	}
	f1, i1, b1 := left(mostOfFile, *file)
	f2, i2, b2 := left(mostOfAll, l.all)
	r.keepMost(min(f1, f2), min(i1, i2), min(b1, b2))
	for i := range r.Findings {
		r.Findings[i].shorten()
	}

	for i := range r.Faults {
		r.Faults[i].Message = plaintext.Shortened(r.Faults[i].Message, mostOfMessage)
		r.Faults[i].Remedy = plaintext.Shortened(r.Faults[i].Remedy, mostOfMessage)
	}

	l.count(file, r)
	r.Passed = shortKeys(r.Passed)
	if r.Unlisted.Any() {
		l.say(file, &r)
	}

	return r
}

// count notes what is listed.
func (l *Listing) count(file *listed, r Result) {
	if len(r.Findings)+len(r.Faults) == 0 && !r.Unlisted.Any() {
		return // a million files may have nothing
	}

	l.files[r.File] = file
	for _, n := range []*listed{file, &l.all} {
		n.faults += len(r.Faults)
		for i := range r.Findings {
			if r.Findings[i].Suppressed != "" {
				n.ignored++
			} else {
				n.findings++
			}
		}
	}
}

// say adds what is not listed, once.
func (l *Listing) say(file *listed, r *Result) {
	add := func(message string) {
		r.Faults = append(r.Faults, manifest.Fault{
			Pos:      manifest.Pos{Line: 1, Column: 1},
			Unlisted: true,
			Message:  message,
			Remedy:   remedyUnlisted,
		})
	}

	full := func(n listed, most int) bool { return n.findings >= most || n.ignored >= most || n.faults >= most }
	switch {
	case full(l.all, mostOfAll):
		if !l.full {
			add(fmt.Sprintf("there are more than %d findings or faults, of which no more are listed", mostOfAll))
		}
		l.full = true
	case !file.full:
		file.full = true
		add(fmt.Sprintf("the file has more than %d findings or faults, of which no more are listed", mostOfFile))
	}
}

// shorten shortens what others wrote.
func (f *Finding) shorten() {
	o := &f.Object
	o.Kind, o.Namespace = plaintext.Shortened(o.Kind, mostOfName), plaintext.Shortened(o.Namespace, mostOfName)
	o.Name = plaintext.Shortened(o.Name, mostOfName)
	f.Message = plaintext.Shortened(f.Message, mostOfMessage)
	f.Path = plaintext.Shortened(f.Path, mostOfMessage)
	f.Snippet = plaintext.Shortened(f.Snippet, mostOfMessage)
	f.Suppressed = plaintext.Shortened(f.Suppressed, mostOfMessage)
}

// shortKeys returns a count by shortened names.
func shortKeys(count map[string]int) map[string]int {
	for name := range count {
		if len(name) > mostOfName {
			n := count[name]
			delete(count, name)
			count[plaintext.Shortened(name, mostOfName)] += n
		}
	}
	return count
}
