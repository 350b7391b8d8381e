package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/syntax"
)

func itoa(n int) string { return strconv.Itoa(n) }

// fail says what went wrong, and sets ERRORLEVEL to 1.
func (s *Shell) fail(err error) (int32, flow) {
	s.say(err.Error())
	s.code = 1
	return 1, next
}

// exec carries a command out.
func (s *Shell) exec(ctx context.Context, n syntax.Node) (int32, flow) {
	if s.interrupted(ctx) {
		if code, how := s.interrupt(ctx); how != next {
			return code, how
		}
	}

	switch n := n.(type) {
	case *syntax.Quiet:
		return s.exec(ctx, n.Node)
	case *syntax.Sequence:
		return s.all(ctx, n.Nodes)
	case *syntax.Block:
		return s.redirected(n.Redirects, func() (int32, flow) { return s.all(ctx, n.Body) })
	case *syntax.Binary:
		if n.Op == "|" {
			return s.pipe(ctx, n)
		}
		return s.conditional(ctx, n)

	case *syntax.If:
		return s.condition(ctx, n)
	case *syntax.For:
		return s.loop(ctx, n)
	case *syntax.Simple:
		return s.redirected(n.Redirects, func() (int32, flow) { return s.simple(ctx, s.late(n.Text)) })
	}

	return 0, next
}

func (s *Shell) all(ctx context.Context, nodes []syntax.Node) (code int32, how flow) {
	for _, n := range nodes {
		if code, how = s.exec(ctx, n); how != next {
			return code, how
		}
	}
	return code, next
}

// conditional carries && and || out.
func (s *Shell) conditional(ctx context.Context, n *syntax.Binary) (int32, flow) {
	code, how := s.exec(ctx, n.Left)
	if how != next || (code == 0) != (n.Op == "&&") {
		return code, how
	}
	if code != 0 && s.code == 0 {
		s.code = code
	}
	return s.exec(ctx, n.Right)
}

// redirected carries a command out with other handles.
func (s *Shell) redirected(redirects []syntax.Redirect, run func() (int32, flow)) (int32, flow) {
	if len(redirects) == 0 {
		return run()
	}

	s.redirections++
	defer func() { s.redirections-- }()

	saved := s.files
	var opened []*os.File
	defer func() {
		s.files = saved
		for _, f := range opened {
			_ = f.Close() // what was written is written
		}
	}()

	for _, r := range redirects {
		if r.Dup {
			from := s.files[r.Target[0]-'0']
			if from == nil {
				s.say("The handle could not be duplicated\r\nduring redirection of handle " + itoa(r.Handle) + ".")
				s.code = 1
				return 1, next
			}
			s.files[r.Handle] = from
			continue
		}

		f, err := s.open(r)
		if err != nil {
			return s.fail(err)
		}
		opened = append(opened, f)
		s.files[r.Handle] = f
	}

	return run()
}

// open opens the file of a redirection.
func (s *Shell) open(r syntax.Redirect) (*os.File, error) {
	name := strings.TrimSpace(unquoted(s.late(r.Target)))
	if name == "" {
		return nil, disk.PathNotFound
	}
	how := map[string]disk.How{"<": disk.Read, ">": disk.Write, ">>": disk.Append}[r.Op]
	return s.o.Disk.Open(s.full(name), how)
}

// pipe runs both sides at the same time, each in a shell of its own. The code is that of the right one.
func (s *Shell) pipe(ctx context.Context, n *syntax.Binary) (int32, flow) {
	r, w, err := os.Pipe()
	if err != nil {
		return s.fail(err)
	}

	left, right := s.side(n.Left), s.side(n.Right)
	left.files[1], right.files[0] = w, r
	var wg sync.WaitGroup
	ended := next
	wg.Go(func() {
		defer w.Close()
		_, ended = left.exec(ctx, n.Left)
	})

	code, how := right.exec(ctx, n.Right)
	_ = r.Close() // the left side may write no more
	wg.Wait()
	s.code = right.code
	if left.interruptedBy(ended) || right.interruptedBy(how) { // whoever runs the pipe is told, too
		s.pressed = true
		return code, next
	}

	if how != abort {
		how = next
	}

	return code, how
}

// side returns the shell of a side of a pipe. In Windows it is a cmd.exe of its own, which starts without delayed
// expansion; only a command that is no block has been expanded before.
func (s *Shell) side(n syntax.Node) *Shell {
	c := s.clone()
	switch n.(type) {
	case *syntax.Simple:
	case *syntax.Binary: // a further pipe
	default:
		c.delayed = s.o.Delayed
	}
	return c
}

// simple runs a builtin, a batch file or a program.
func (s *Shell) simple(ctx context.Context, text string) (int32, flow) {
	text = strings.TrimLeft(text, delimiters)
	if text == "" {
		return 0, next
	}
	if len(text) >= 2 && text[1] == ':' && strings.Trim(text[2:], " \t") == "" {
		return s.changeDrive(text[0])
	}

	name, args, found := s.builtin(text)
	if found {
		return s.runBuiltin(ctx, name, args)
	}

	name, args = command(text)
	file, err := s.find(unquoted(name))
	if slash := strings.IndexByte(name, '/'); err != nil && slash > 0 && name[0] != '"' { // cmd/c
		if other, wrong := s.find(name[:slash]); wrong == nil {
			file, err = other, nil
			name, args = name[:slash], name[slash:]+args
		}
	}
	if err != nil {
		return s.unknown(name, err)
	}

	if isBatch(file) {
		return s.chain(ctx, file, name, args)
	}

	return s.program(ctx, file, text)
}

// command takes the name of a program off a command.
func command(text string) (name, args string) {
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && delimiter(c):
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// builtin returns the name of the builtin that a text begins with. A name with a dot, a colon or a backslash after it
// is one only if there is no program of the whole name.
func (s *Shell) builtin(text string) (name, args string, found bool) {
	end := 0
	for end < len(text) && text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z' {
		end++
	}

	name = strings.ToLower(text[:end])
	if _, ok := s.table[name]; !ok {
		return "", "", false
	}

	args = text[end:]
	if args == "" || delimiter(args[0]) || strings.IndexByte(`/+[]("`, args[0]) >= 0 {
		return name, args, true
	}
	if strings.IndexByte(`.:\`, args[0]) < 0 {
		return "", "", false
	}

	word, _ := command(text)
	if _, err := s.find(unquoted(word)); err == nil {
		return "", "", false
	}

	return name, args, true
}

// unknown says that a name is no command.
func (s *Shell) unknown(name string, err error) (int32, flow) {
	code := int32(1)
	if errors.Is(err, disk.FileNotFound) {
		s.say("'" + name + "' is not recognized as an internal or external command,\r\n" +
			"operable program or batch file.")
	} else {
		s.say(err.Error())
	}

	s.code = unknownCode
	if !errors.Is(err, disk.FileNotFound) {
		s.code = 1
	}
	if s.frame != nil {
		code = s.code
	}

	return code, next
}

// chain runs a batch file. Without CALL it takes the place of the batch file that runs, which may so begin anew without
// end.
func (s *Shell) chain(ctx context.Context, file, name, args string) (int32, flow) {
	if s.frame == nil || s.calls > 0 {
		calls := s.calls
		s.calls = 0
		defer func() { s.calls = calls }()
		return s.batch(ctx, file, name, args)
	}

	if s.redirections == 0 && !s.frame.side {
		f, err := s.newFrame(file, name, args)
		if err != nil {
			return s.fail(err)
		}
		s.follows = f
		return s.code, leave
	}

	code, how := s.batch(ctx, file, name, args) // its handles end with it
	if how == next {
		how = leave
	}
	return code, how
}

// program runs a program and waits for its end.
func (s *Shell) program(ctx context.Context, file, line string) (int32, flow) {
	p := Program{
		File:    file,
		Line:    line,
		Dir:     s.dir,
		Environ: s.env.environ(),
	}

	copy(p.Files[:], s.files[:3])
	wait, err := s.o.Host.Start(ctx, p)
	if err != nil {
		return s.fail(err)
	}
	if s.prompting && s.frame == nil && s.o.Host.Graphical(file) {
		return 0, next
	}

	code, err := wait()
	if err != nil {
		return s.fail(err)
	}
	s.exited = fmt.Sprintf("%08X", code)
	s.code = int32(code) //nolint:gosec // an exit code has 32 bits, and ERRORLEVEL a sign
	if s.code == interruptedCode {
		s.pressed = true
		if s.prompting {
			s.awaitTold()
		}
	}
	return s.code, next
}
