package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxDocument bounds one document, in bytes. A List that kubectl printed of a large cluster stays below it.
const MaxDocument = 64 << 20

// Chunk is the text of one document, or of several JSON values that follow each other on a line.
type Chunk struct {
	Text []byte
	// Line is the number of the text's first line in its file, from 1.
	Line int
	// TooBig says that the document was longer than MaxDocument, so its text was dropped.
	TooBig bool
}

// Split cuts a stream into documents as it arrives; one document at a time is in memory. YAML documents end at a line
// that begins with --- or ..., which YAML allows nowhere else in the first column; JSON values end with their last
// brace. An error is the reader's, and ends the sequence.
func Split(r io.Reader) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		s := splitter{
			in:    bufio.NewReaderSize(r, 64<<10),
			line:  1,
			start: 1,
		}

		for {
			line, err := s.readLine()
			if len(line) > 0 && !s.take(line, yield) {
				return
			}
			if errors.Is(err, io.EOF) {
				s.flush(yield)
				return
			}

			if err != nil {
				if s.flush(yield) {
					yield(Chunk{Line: s.line}, fmt.Errorf("read line %d: %w", s.line, err))
				}
				return
			}
		}
	}
}

// splitter holds the document that is being read.
type splitter struct {
	in   *bufio.Reader
	line int // of the line that is read next
	long []byte

	text    []byte
	start   int  // line of text's first byte
	marker  bool // text has its --- line
	content bool // text has something but comments, directives and blank lines
	tooBig  bool
	json    jsonDepth
}

// readLine returns the next line with its end. A line longer than MaxDocument is cut to a little more than that.
func (s *splitter) readLine() ([]byte, error) {
	line, err := s.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}

	s.long = s.long[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(s.long) <= MaxDocument {
			s.long = append(s.long, line...)
		}
		line, err = s.in.ReadSlice('\n')
	}

	if len(s.long) <= MaxDocument {
		s.long = append(s.long, line...)
	}
	return s.long, err
}

// take adds a line to the document, or ends the document before it.
func (s *splitter) take(line []byte, yield func(Chunk, error) bool) bool {
	if s.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}

	number := s.line
	s.line++
	switch {
	case isMarker(line, "---"):
		if (s.content || s.marker) && !s.flush(yield) {
			return false
		}
		s.add(line, number)
		s.marker = true
		rest := bytes.TrimSpace(line[3:])
		s.content = s.content || (len(rest) > 0 && rest[0] != '#')
		return true

	case isMarker(line, "..."):
		return s.flush(yield)
	}

	if !s.content {
		s.begin(bytes.TrimSpace(line))
	}
	s.add(line, number)
	if s.json.on && s.content && s.json.ends(line) {
		return s.flush(yield)
	}
	return true
}

// begin checks whether a line is the first with content, and whether the content is JSON.
func (s *splitter) begin(trimmed []byte) {
	if len(trimmed) == 0 || trimmed[0] == '#' || (trimmed[0] == '%' && !s.marker) {
		return
	}
	s.content = true
	template := bytes.HasPrefix(trimmed, []byte("{{")) // of Helm, which explain recognises in the whole document
	s.json = jsonDepth{on: !template && (trimmed[0] == '{' || trimmed[0] == '[')}
}

func (s *splitter) add(line []byte, number int) {
	if len(s.text) == 0 && !s.tooBig {
		s.start = number
	}
	if s.tooBig || len(s.text)+len(line) > MaxDocument {
		s.tooBig, s.text = true, nil
		return
	}
	s.text = append(s.text, line...)
}

// flush yields the document, if it has content, and begins the next one.
func (s *splitter) flush(yield func(Chunk, error) bool) bool {
	c := Chunk{
		Text:   s.text,
		Line:   s.start,
		TooBig: s.tooBig,
	}
	content := s.content
	s.text = nil
	s.marker = false
	s.content = false
	s.tooBig = false
	s.json = jsonDepth{}
	return !content || yield(c, nil)
}

// isMarker reports whether a line is the document marker, alone or followed by white space.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n')
}

// jsonDepth counts braces outside of strings, to find where a JSON value ends.
type jsonDepth struct {
	on               bool
	depth            int
	inString, escape bool
}

// ends reads a line and reports whether the value is complete at its end.
func (d *jsonDepth) ends(line []byte) bool {
	for _, b := range line {
		switch {
		case d.escape:
			d.escape = false
		case d.inString && b == '\\':
			d.escape = true
		case b == '"':
			d.inString = !d.inString
		case d.inString:
		case b == '{' || b == '[':
			d.depth++
		case b == '}' || b == ']':
			d.depth--
		}
	}

	return d.depth <= 0 && !d.inString
}
