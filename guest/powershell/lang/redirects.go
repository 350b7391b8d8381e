package lang

import "mullion.dev/mullion/guest/powershell/object"

// Redirection says where a stream other than the output goes: into a file, or into the output.
type Redirection struct {
	Stream rune
	File   Expr // nil: into the output
	Append bool
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
func (p *parser) redirections(s *Stage) error {
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
			return p.refuse("RedirectionNotSupported", "The '%c>&%c' operator is reserved for future use.",
				stream, p.peekAt(1))
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
func (r *Redirect) merge(stream rune) {
	if stream == object.ErrorStream || stream == object.AllStreams {
		r.Errors = "merge"
	}
	if stream != object.ErrorStream && stream != '1' {
		r.Others = append(r.Others, Redirection{Stream: stream})
	}
}

// into puts a stream into a file.
func (r *Redirect) into(stream rune, file Expr, more bool) {
	v, isVariable := file.(*Variable)
	switch {
	case stream == '1':
		r.File, r.Append = file, more
	case stream == object.AllStreams:
		r.merge(stream)
		r.File, r.Append = file, more
	case stream == object.ErrorStream && isVariable && v.Name == "null" && !more:
		r.Errors = "null"
	default:
		r.Others = append(r.Others, Redirection{stream, file, more})
	}
}
