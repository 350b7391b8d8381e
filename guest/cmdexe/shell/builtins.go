package shell

import (
	"context"
	"errors"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/fileops"
	"mullion.dev/mullion/guest/cmdexe/synopsis"
	"mullion.dev/mullion/guest/lineedit"
)

// keeps says when a builtin leaves ERRORLEVEL alone.
type keeps int

const (
	sets       keeps = iota // never
	setsFailed              // it sets ERRORLEVEL only if it fails
	setsInCmd               // so, but in a .cmd file, where it sets it to 0 too
	leaves                  // it sets ERRORLEVEL itself, or never
)

// builtin is a command that is part of cmd.exe.
type builtin struct {
	keeps keeps
	run   func(s *Shell, ctx context.Context, args string) (int32, flow)
}

// plain returns a builtin that only has a code.
func plain(k keeps, run func(s *Shell, args string) int32) builtin {
	return builtin{k, func(s *Shell, _ context.Context, args string) (int32, flow) { return run(s, args), next }}
}

// onFiles returns a builtin of package fileops.
func onFiles(k keeps, run func(e *fileops.Env, args string) int32) builtin {
	return builtin{k, func(s *Shell, ctx context.Context, args string) (int32, flow) {
		code := run(s.fileEnv(ctx), args)
		if s.pressed && s.frame == nil {
			return s.interrupt(ctx)
		}
		return code, next
	}}
}

// fileEnv returns what the builtins of package fileops see of the shell.
func (s *Shell) fileEnv(ctx context.Context) *fileops.Env {
	return &fileops.Env{
		Disk: s.o.Disk, System: s.o.System, Full: s.full, Dir: s.dir, Out: s.out(), Err: s.writer(2),
		Read: func() (string, bool) { return s.readLine() },
		Line: s.consoleLine,
		Stopped: func() bool {
			s.pressed = s.pressed || s.interrupted(ctx)
			return s.pressed
		},
		Default: func(name string) string { v, _ := s.env.get(name); return v },
		Now:     s.o.Now, Batch: s.frame != nil,
	}
}

// consoleLine reads a line that is typed at the console, as a part of a file.
func (s *Shell) consoleLine() (string, error) {
	e := &lineedit.Editor{History: &lineedit.History{}, Ends: true}
	line, err := s.o.Host.ReadLine(e, "", s.files[0], s.files[1])
	s.pressed = s.pressed || errors.Is(err, lineedit.ErrInterrupted)
	return line, err
}

// languageBuiltins returns the builtins that change the shell itself.
func languageBuiltins() map[string]builtin {
	return map[string]builtin{
		"break":    plain(leaves, func(*Shell, string) int32 { return 0 }),
		"call":     {leaves, (*Shell).call},
		"cd":       plain(sets, (*Shell).changeDir),
		"chdir":    plain(sets, (*Shell).changeDir),
		"cls":      plain(leaves, func(s *Shell, _ string) int32 { return s.console("cls", "") }),
		"color":    plain(sets, (*Shell).color),
		"date":     plain(sets, func(s *Shell, args string) int32 { return s.clockCommand("date", date(s.o.Now()), args) }),
		"doskey":   plain(sets, (*Shell).doskey),
		"echo":     plain(leaves, (*Shell).echoCommand),
		"endlocal": plain(leaves, func(s *Shell, _ string) int32 { s.endLocal(); return 0 }),
		"exit":     {leaves, (*Shell).exit},
		"goto":     {leaves, (*Shell).goToCommand},
		"path":     plain(setsInCmd, (*Shell).path),
		"pause":    plain(leaves, (*Shell).pause),
		"popd":     plain(setsFailed, (*Shell).popDir),
		"prompt":   plain(setsInCmd, (*Shell).setPrompt),
		"pushd":    plain(sets, (*Shell).pushDir),
		"rem":      plain(leaves, func(*Shell, string) int32 { return 0 }),
		"set":      plain(setsInCmd, (*Shell).set),
		"setlocal": plain(leaves, func(s *Shell, args string) int32 { return s.setLocal(strings.Trim(args, delimiters)) }),
		"shift":    plain(setsFailed, (*Shell).shift),
		"start":    {sets, (*Shell).start},
		"time":     plain(sets, func(s *Shell, args string) int32 { return s.clockCommand("time", clock(s.o.Now()), args) }),
		"title":    plain(leaves, func(s *Shell, args string) int32 { return s.console("title", strings.TrimPrefix(args, " ")) }),
		"verify":   plain(sets, (*Shell).verify),
	}
}

// builtins returns all builtins by name.
func builtins() map[string]builtin {
	all := languageBuiltins()
	for name, run := range fileops.Commands() {
		k := sets
		switch name {
		case "rd", "rmdir":
			k = leaves
		case "assoc", "ftype":
			k = setsInCmd
		}
		all[name] = onFiles(k, run)
	}

	return all
}

// runBuiltin runs a builtin and sets ERRORLEVEL as it does.
func (s *Shell) runBuiltin(ctx context.Context, name, args string) (int32, flow) {
	b := s.table[name]
	if help := strings.Trim(args, " \t"); help == "/?" && name != "echo" && name != "rem" {
		s.help(name)
		return 0, next
	}

	code, how := b.run(s, ctx, args)
	switch b.keeps {
	case sets:
		s.code = code
	case setsFailed, setsInCmd:
		if code != 0 || (b.keeps == setsInCmd && s.frame.command()) {
			s.code = code
		}
	}

	return code, how
}

// help prints what a builtin does, and how it is called.
func (s *Shell) help(name string) {
	c, _ := synopsis.Find(name) // a test says that each has one
	s.print("%s", c.Help())
}

func (s *Shell) console(what, text string) int32 {
	if err := s.o.Host.Console(what, text, s.files[1]); err != nil {
		return 1
	}
	return 0
}

// echoCommand carries out ECHO. One character after its name belongs to it.
func (s *Shell) echoCommand(args string) int32 {
	switch word := strings.ToLower(strings.Trim(args, delimiters)); {
	case word == "/?" && args != "./?":
		s.help("echo")
	case args == "" || (word == "" && delimiter(args[0])):
		s.print("ECHO is %s.\r\n", onOff(s.echo))
	case delimiter(args[0]) && (word == "on" || word == "off"):
		s.echo = word == "on"
	case args[0] == '"':
		s.print("%s\r\n", args)
	default:
		s.print("%s\r\n", args[1:])
	}

	return 0
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// goToCommand carries out GOTO, which means nothing on the command line.
func (s *Shell) goToCommand(_ context.Context, args string) (int32, flow) {
	if s.frame == nil {
		return 0, next
	}
	return s.goTo(args)
}

// exit carries out EXIT.
func (s *Shell) exit(_ context.Context, args string) (int32, flow) {
	list := words(args)
	inBatch := false
	if len(list) > 0 && strings.EqualFold(list[0], "/b") {
		inBatch = true
		list = list[1:]
	} else if len(list) > 0 && strings.HasPrefix(strings.ToLower(list[0]), "/b") {
		inBatch = true
		list[0] = list[0][2:]
	}

	if len(list) > 0 {
		if n, ok := leading(unquoted(list[0])); ok {
			s.code = int32(uint32(n)) //nolint:gosec // wraps around, as an exit code does
		}
	}
	if inBatch && s.frame != nil {
		return s.code, leave
	}

	return s.code, quit
}

// shift carries out SHIFT, perhaps from a later argument on.
func (s *Shell) shift(args string) int32 {
	if s.frame == nil {
		return 0
	}

	from := 0
	if word := strings.Trim(args, delimiters); len(word) == 2 && word[0] == '/' && word[1] >= '0' && word[1] <= '8' {
		from = int(word[1] - '0')
	} else if word != "" {
		s.say("Invalid parameter to SHIFT command")
		return 1
	}

	f := s.frame
	if from < len(f.shift) {
		f.shift = append(append([]string(nil), f.shift[:from]...), f.shift[from+1:]...)
	}

	return 0
}

// color carries out COLOR, which changes nothing here but refuses what Windows refuses.
func (s *Shell) color(args string) int32 {
	word := strings.Trim(args, delimiters)
	if len(word) > 2 || strings.Trim(strings.ToLower(word), "0123456789abcdef") != "" ||
		(len(word) == 2 && strings.EqualFold(word[:1], word[1:])) {
		return 1
	}
	return 0
}

// verify carries out VERIFY, whose state changes nothing.
func (s *Shell) verify(args string) int32 {
	switch strings.ToLower(strings.Trim(args, delimiters)) {
	case "":
		s.print("VERIFY is %s.\r\n", onOff(s.verifying))
	case "on":
		s.verifying = true
	case "off":
		s.verifying = false
	default:
		s.say("An incorrect parameter was\r\nentered for the command.")
		return 1
	}

	return 0
}

// clockCommand carries out DATE and TIME. The clock is the machine's, and cannot be set.
func (s *Shell) clockCommand(name, now, args string) int32 {
	list := words(strings.ToLower(args))
	short := len(list) > 0 && list[0] == "/t"
	switch {
	case short && name == "time":
		s.print("%s\r\n", s.o.Now().Format("03:04 PM"))
	case short:
		s.print("%s \r\n", now)
	case len(list) > 0:
		s.say("A required privilege is not held by the client.")
		return 1

	default:
		s.print("The current %s is: %s\r\n", name, now)
		if name == "date" {
			s.print("Enter the new date: (mm-dd-yy) ")
		} else {
			s.print("Enter the new time: ")
		}

		if line, _ := s.readLine(); strings.TrimSpace(line) != "" {
			s.say("A required privilege is not held by the client.")
			return 1
		}
	}

	return 0
}

// pause carries out PAUSE.
func (s *Shell) pause(string) int32 {
	s.print("Press any key to continue . . . ")
	err := s.o.Host.Console("key", "", s.files[0])
	switch {
	case errors.Is(err, ErrInterrupted):
		s.pressed = true
	case err != nil && s.files[0] != nil:
		var one [1]byte
		_, _ = s.files[0].Read(one[:]) // at the end of the input it goes on
	}
	s.print("\r\n")
	return 0
}
