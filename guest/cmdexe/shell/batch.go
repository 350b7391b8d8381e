package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/expand"
	"mullion.dev/mullion/guest/cmdexe/syntax"
)

// frame is a batch file or a subroutine of one that runs.
type frame struct {
	file   string // its whole name
	text   []byte
	at     int // the next line
	args   []string
	shift  []string // args after SHIFT
	all    string
	locals []local
	side   bool // it runs in a side of a pipe
}

// local is what SETLOCAL keeps for ENDLOCAL.
type local struct {
	env                 environment
	dir                 string
	delayed, extensions bool
}

// deepestBatch is how many batch files and subroutines may run in each other.
const deepestBatch = 600

func (f *frame) argument(number int) string {
	if number < len(f.shift) {
		return f.shift[number]
	}
	return ""
}

// path returns an argument as %~f sees it: the whole name of the file for %0, as long as SHIFT leaves that alone.
func (f *frame) path(number int) string {
	if number == 0 && len(f.shift) > 0 && f.shift[0] == f.args[0] {
		return f.file
	}
	return f.argument(number)
}

// command reports whether it is a .cmd file, in which more commands set ERRORLEVEL to 0.
func (f *frame) command() bool {
	return f != nil && strings.HasSuffix(strings.ToLower(f.file), ".cmd")
}

// line takes the next line.
func (f *frame) line() (string, bool) {
	if f.at >= len(f.text) {
		return "", false
	}

	rest := f.text[f.at:]
	end := bytes.IndexByte(rest, '\n')
	if end < 0 {
		end = len(rest)
		f.at = len(f.text)
	} else {
		f.at += end + 1
	}
	return strings.TrimRight(string(rest[:end]), "\r"), true
}

// label finds a label: after this line first, then from the file's first line on.
func (f *frame) label(name string) (int, bool) {
	for _, from := range []int{f.at, 0} {
		look := frame{text: f.text, at: from}
		for {
			line, ok := look.line()
			if !ok {
				break
			}
			line = strings.TrimLeft(line, delimiters)
			if rest, labelled := strings.CutPrefix(line, ":"); labelled && strings.EqualFold(labelName(rest), name) {
				return look.at, true
			}
		}
	}

	return 0, false
}

// labelName returns the label that a text begins with.
func labelName(text string) string {
	text = strings.TrimLeft(text, delimiters)
	if end := strings.IndexAny(text, delimiters+":+&|<>\""); end >= 0 {
		text = text[:end]
	}
	return text
}

// batchLines gives the lines of the batch file to the parser.
type batchLines struct {
	s   *Shell
	err error
}

func (b *batchLines) Next() (string, bool) {
	line, ok := b.s.frame.line()
	if !ok || b.err != nil {
		return "", false
	}
	if strings.HasPrefix(strings.TrimLeft(line, delimiters), ":") {
		return line, true
	}
	line, b.err = b.s.percent(line)
	return line, b.err == nil
}

var errTooLong = errors.New("The input line is too long.") //nolint:staticcheck,revive // Windows' words

// percent expands the percent signs of a line.
func (s *Shell) percent(line string) (string, error) {
	line, err := expand.Percent(line, s.scope())
	if err == nil && len(line) > longest {
		err = errTooLong
	}
	return line, err
}

// openBatch reads a batch file.
func (s *Shell) openBatch(file string) ([]byte, error) {
	f, err := s.o.Disk.Open(file, disk.Read)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if end := bytes.IndexByte(text, 0x1A); end >= 0 {
		text = text[:end]
	}
	return bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF")), err
}

// batch runs a batch file to its end, and returns ERRORLEVEL. name is what it was called by.
func (s *Shell) batch(ctx context.Context, file, name, args string) (int32, flow) {
	f, err := s.newFrame(file, name, args)
	if err != nil {
		return s.fail(err)
	}
	return s.enter(ctx, f)
}

func (s *Shell) newFrame(file, name, args string) (*frame, error) {
	text, err := s.openBatch(file)
	if err != nil {
		return nil, err
	}
	f := &frame{
		file: file,
		text: text,
		all:  strings.TrimLeft(args, " \t"),
	}

	f.args = append([]string{name}, words(args)...)
	f.shift = f.args
	return f, nil
}

// enter runs a frame to its end, and then the one that took its place.
func (s *Shell) enter(ctx context.Context, f *frame) (int32, flow) {
	if s.depth >= deepestBatch {
		s.say("****** B A T C H   R E C U R S I O N  exceeds STACK limits ******\r\n" +
			"Recursion Count=" + itoa(s.depth) + ", Stack Usage=90 percent\r\n" +
			"******       B A T C H   PROCESSING IS   A B O R T E D      ******")
		s.code = 1
		return 1, abort
	}

	outer := s.frame
	loops := s.loops
	redirections := s.redirections
	if outer == nil { // ECHO OFF of a batch file ends with it, and not with one that it calls
		defer func(echo bool) { s.echo = echo }(s.echo)
	}

	s.depth++
	how := next
	for f != nil {
		s.frame = f
		s.loops = 0
		s.redirections = 0
		how = s.runFrame(ctx)
		for len(f.locals) > 0 {
			s.endLocal()
		}
		f, s.follows = s.follows, nil
	}

	s.depth--
	s.frame = outer
	s.loops = loops
	s.redirections = redirections
	if how == jump || how == leave {
		how = next
	}

	return s.code, how
}

// runFrame runs the commands of a frame.
func (s *Shell) runFrame(ctx context.Context) flow {
	for {
		if s.interrupted(ctx) {
			if _, how := s.interrupt(ctx); how != next {
				return how
			}
		}

		lines := &batchLines{s: s}
		n, err := syntax.Parse(lines)
		if lines.err != nil {
			err = lines.err
		}
		if errors.Is(err, io.EOF) {
			return next
		}

		if err != nil {
			s.say(err.Error())
			s.code = syntaxCode
			return abort
		}
		s.show(n)
		if _, how := s.exec(ctx, n); how != next && how != jump {
			return how
		}
	}
}

const (
	// syntaxCode is ERRORLEVEL after a command that cannot be read.
	syntaxCode = 255
	// interruptedCode is the exit code after Ctrl+C: STATUS_CONTROL_C_EXIT. A program that ends with it counts as one
	// that Ctrl+C has ended (https://ss64.com/nt/exit.html).
	interruptedCode = -1073741510
	// unknownCode is ERRORLEVEL after a name that is no command.
	unknownCode = 9009
)

// show prints a command before it runs, if ECHO is on: a line of a batch file, and the body of a FOR each time.
func (s *Shell) show(n syntax.Node) {
	if n == nil || !s.echo {
		return
	}

	switch n := n.(type) {
	case *syntax.Quiet:
		return
	case *syntax.Remark:
		if n.Label || n.Text == "" {
			return
		}
	}
	s.print("\r\n%s%s\r\n", s.promptText(), syntax.Text(n, s.inLoop))
}

// goTo goes on at a label.
func (s *Shell) goTo(name string) (int32, flow) {
	name = strings.TrimLeft(name, delimiters)
	bare, colon := strings.CutPrefix(name, ":")
	if s.extensions && colon && strings.EqualFold(labelName(bare), "eof") {
		return s.code, leave
	}

	label := labelName(bare)
	if label == "" {
		s.say("No batch label specified to GOTO command.")
		s.code = 1
		return 1, abort
	}

	at, ok := s.frame.label(label)
	if !ok {
		s.say("The system cannot find the batch label specified - " + label)
		s.code = 1
		return 1, leave
	}
	s.frame.at = at
	return s.code, jump
}

// subroutine calls a label of the batch file.
func (s *Shell) subroutine(ctx context.Context, text string) (int32, flow) {
	if s.frame == nil {
		s.say("Invalid attempt to call batch label outside of batch script.")
		s.code = 1
		return 1, next
	}

	name := labelName(text[1:])
	rest := strings.TrimLeft(text[1:], delimiters)[len(name):]
	outer := s.frame
	f := &frame{
		file: outer.file,
		text: outer.text,
		all:  strings.TrimLeft(rest, " \t"),
	}

	f.args = append([]string{":" + name}, words(rest)...)
	f.shift = f.args
	if strings.EqualFold(name, "eof") {
		return s.code, next
	}

	at, ok := outer.label(name)
	if !ok {
		s.say("The system cannot find the batch label specified - " + name)
		s.code = 1
		return 1, next
	}
	f.at = at
	return s.enter(ctx, f)
}

// setLocal keeps the environment for endLocal.
func (s *Shell) setLocal(args string) int32 {
	if s.frame == nil {
		return 0
	}

	s.frame.locals = append(s.frame.locals, local{s.env.clone(), s.dir, s.delayed, s.extensions})
	code := int32(0)
	for _, word := range words(strings.ToLower(args)) {
		switch word {
		case "enabledelayedexpansion":
			s.delayed = true
		case "disabledelayedexpansion":
			s.delayed = false
		case "enableextensions":
			s.extensions = true
		case "disableextensions":
			s.extensions = false
		default:
			code = 1
		}
	}

	if args != "" {
		s.code = code
	}

	return code
}

// endLocal takes back what changed since the last setLocal of this batch file.
func (s *Shell) endLocal() {
	if s.frame == nil || len(s.frame.locals) == 0 {
		return
	}
	last := len(s.frame.locals) - 1
	was := s.frame.locals[last]
	s.frame.locals = s.frame.locals[:last]
	s.env = was.env
	s.dir = was.dir
	s.delayed = was.delayed
	s.extensions = was.extensions
}
