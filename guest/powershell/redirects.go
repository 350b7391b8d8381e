package powershell

import (
	"fmt"
	"io"
	"maps"
	"os"
)

// The streams of messages, by their numbers
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_redirection).
const (
	errorsStream      = '2'
	warningsStream    = '3'
	verboseStream     = '4'
	debugStream       = '5'
	informationStream = '6'
	allStreams        = '*'
)

// redirection says where a stream other than the output goes: into a file, or into the output.
type redirection struct {
	stream rune
	file   expr // nil: into the output
	append bool
}

// redirects reports whether a redirection begins here.
func (p *parser) redirects() bool {
	switch p.peek() {
	case '>':
		return true
	case '1', '2', '3', '4', '5', '6', '*':
		return p.peekAt(1) == '>'
	}
	return false
}

// redirections reads > file, 2>> file, 3>&1 and others.
func (p *parser) redirections(s *stage) error {
	for {
		p.blanks()
		if !p.redirects() {
			return nil
		}
		stream := '1'
		if p.peek() != '>' {
			stream = p.peek()
			p.at++
		}
		p.at++
		switch {
		case p.take("&1"):
			s.merge(stream)
			continue
		case p.peek() == '&':
			return p.refuse("RedirectionNotSupported", "The '%c>&%c' operator is reserved for future use.", stream,
				p.peekAt(1))
		}
		more := p.take(">")
		p.blanks()
		if r := p.peek(); endsWord(r) {
			return p.refuse("MissingFileSpecification", "Missing file specification after redirection operator.")
		}
		x, err := p.argumentValue()
		if err != nil {
			return err
		}
		s.into(stream, x, more)
	}
}

// merge puts a stream into the output.
func (r *redirect) merge(stream rune) {
	if stream == errorsStream || stream == allStreams {
		r.errors = "merge"
	}
	if stream != errorsStream && stream != '1' {
		r.others = append(r.others, redirection{stream: stream})
	}
}

// into puts a stream into a file.
func (r *redirect) into(stream rune, file expr, more bool) {
	v, isVariable := file.(*variable)
	switch {
	case stream == '1':
		r.file, r.append = file, more
	case stream == allStreams:
		r.merge(stream)
		r.file, r.append = file, more
	case stream == errorsStream && isVariable && v.name == "null" && !more:
		r.errors = "null"
	default:
		r.others = append(r.others, redirection{stream, file, more})
	}
}

// message prints a message of a stream, or puts it where the stream goes.
func (in *interpreter) message(stream rune, what, end string) error {
	if to := in.messages[stream]; to != nil {
		return to.put(what)
	}
	in.format.end()
	_, err := fmt.Fprintf(in.session.Stdout, "%s%s", what, end)
	return err
}

// redirected runs a stage whose errors or messages go nowhere, into a file or into its output, if it says so.
func (s stage) redirected(f *frame, input []value, piped bool, out *sink) error {
	if s.errors == "" && len(s.others) == 0 {
		return s.do(f, input, piped, out)
	}
	in := f.in
	errs, messages := in.errs, in.messages
	defer func() { in.errs, in.messages = errs, messages }()
	out = in.apart(out)
	switch s.errors {
	case "null":
		in.errs.w, in.errs.merged = io.Discard, nil
	case "merge":
		in.errs.merged = out
	}
	in.messages = map[rune]*sink{}
	maps.Copy(in.messages, messages)
	files := make([][]value, len(s.others))
	for i, r := range s.others {
		to := out
		if r.file != nil {
			to = collect(&files[i])
		}
		for _, stream := range []rune{warningsStream, verboseStream, debugStream, informationStream} {
			if r.stream == stream || r.stream == allStreams {
				in.messages[stream] = to
			}
		}
		if r.stream == errorsStream {
			in.errs.w, in.errs.merged = io.Discard, to
		}
	}
	err := s.do(f, input, piped, out)
	in.errs, in.messages = errs, messages
	for i, r := range s.others {
		if r.file == nil {
			continue
		}
		if wrong := f.writeOutput(r.file, r.append, files[i]); err == nil {
			err = wrong
		}
	}
	return err
}

// writeOutput writes output into a file; $null is nowhere.
func (f *frame) writeOutput(file expr, more bool, got []value) error {
	path, err := file.value(f)
	if err != nil || path == nil {
		return err
	}
	if err := badTarget(text(path)); err != nil {
		return thrown("%v.", err)
	}
	content, err := formatted(got, f.in.session.Newline)
	if err != nil {
		return err
	}
	how := os.O_TRUNC
	if more {
		how = os.O_APPEND
	}
	if err := writeFile(f.in.path(text(path)), content, how, false); err != nil {
		return f.complain("out-file", because(text(path), err))
	}
	return nil
}
