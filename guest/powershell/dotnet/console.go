package dotnet

import (
	"fmt"
	"io"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/stream"
)

// console is what scripts set of the console: nothing else comes of it than that they read it again.
type console struct{ set map[string]object.Value }

// consoleClass returns the class System.Console (https://learn.microsoft.com/en-us/dotnet/api/system.console). What it
// writes goes straight to the program's output, not into the pipeline.
func consoleClass() *object.Class {
	to := func(which func(s *session.State) io.Writer, end bool) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) {
			text := c.Text(0)
			if len(c.Args) > 1 {
				var err error
				if text, err = object.Composite(text, c.Args[1:]); err != nil {
					return nil, err
				}
			}

			if end {
				text += c.State.Newline
			}
			if c.State.Settle != nil {
				c.State.Settle()
			}

			_, err := io.WriteString(which(c.State), text)
			return nil, err
		}
	}

	out := func(s *session.State) io.Writer { return s.Stdout }
	errs := func(s *session.State) io.Writer { return s.Stderr }
	writer := func(which func(s *session.State) io.Writer) object.Value {
		return &object.Instance{Of: &object.Class{Name: "System.IO.TextWriter", Methods: []object.Method{
			{Name: "Write", Least: 1, Most: 16, Do: to(which, false)},
			{Name: "WriteLine", Most: 16, Do: to(which, true)},
			{Name: "Flush", Do: func(*object.Call) (object.Value, error) { return nil, nil }},
		}}}
	}

	kept := func(name string, first object.Value) object.Field {
		return object.Field{
			Name: name,
			Get: func(s *session.State, _ object.Value) (object.Value, error) {
				if v, set := session.Keep[console](s).set[name]; set {
					return v, nil
				}
				return first, nil
			},
			Set: func(_, _ object.Value) error { return nil },
		}
	}

	fixed := func(name string, get func() object.Value) object.Field {
		return object.Field{Name: name, Get: func(*session.State, object.Value) (object.Value, error) {
			return get(), nil
		}}
	}

	columns := func(name string) object.Field {
		of := kept(name, nil)
		of.Get = func(s *session.State, _ object.Value) (object.Value, error) { return columnsOf(s), nil }
		return of
	}

	return &object.Class{
		Name:   "System.Console",
		Others: []string{"console"},
		Fields: []object.Field{
			fixed("Out", func() object.Value { return writer(out) }), fixed("Error", func() object.Value { return writer(errs) }),
			kept("OutputEncoding", &object.Instance{Of: stream.EncodingClass(), V: stream.UTF8Encoding()}),
			kept("InputEncoding", &object.Instance{Of: stream.EncodingClass(), V: stream.UTF8Encoding()}),
			kept("Title", "Windows PowerShell"), kept("ForegroundColor", "Gray"), kept("BackgroundColor", "Black"),
			kept("TreatControlCAsInput", false), kept("CursorVisible", true), kept("CursorLeft", int64(0)),
			kept("CursorTop", int64(0)), kept("WindowHeight", int64(30)),
			columns("WindowWidth"), columns("BufferWidth"), kept("BufferHeight", int64(3000)), fixed("KeyAvailable", func() object.Value { return false }),
			fixed("IsOutputRedirected", func() object.Value { return true }),
			fixed("IsInputRedirected", func() object.Value { return true }),
		},
		Calls: []object.Method{
			static("Write", 1, 16, to(out, false)), static("WriteLine", 0, 16, to(out, true)),
			static("ReadLine", 0, 0, func(c *object.Call) (object.Value, error) {
				line, err := ReadLine(c.State.Stdin)
				if err != nil {
					return nil, nil //nolint:nilerr // at the end of the input there is no line
				}
				return line, nil
			}),
			static("ResetColor", 0, 0, func(*object.Call) (object.Value, error) { return nil, nil }),
			static("Beep", 0, 2, func(*object.Call) (object.Value, error) { return nil, nil }),
			static("Clear", 0, 0, func(c *object.Call) (object.Value, error) { return nil, c.State.System.Clear(c.State.Stdout) }),
		},
	}
}

// columnsOf returns how many columns the console has, or what a console that Windows opens has.
func columnsOf(s *session.State) int64 {
	columns, _ := windowOf(s)
	return columns
}

// windowOf returns how many columns and rows the console's window has, without one those of a window of Windows.
func windowOf(s *session.State) (columns, rows int64) {
	columns, rows = 120, 30
	if s.Console == nil {
		return columns, rows
	}
	if n := s.Console.Columns(); n > 0 {
		columns = int64(n)
	}
	if n := s.Console.Rows(); n > 0 {
		rows = int64(n)
	}
	return columns, rows
}

// mostOfAnswer is the most bytes of a line that a person types.
const mostOfAnswer = 4096

// ReadLine reads a line and no byte of what is behind it, which the programs of the script may read.
func ReadLine(from io.Reader) (string, error) {
	if from == nil {
		return "", io.EOF
	}

	var line []byte
	one := make([]byte, 1)
	for len(line) < mostOfAnswer {
		n, err := from.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return trimReturn(line), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil && len(line) > 0:
			return trimReturn(line), nil
		case err != nil:
			return "", err
		}
	}

	return string(line), nil
}

// AskSecret asks for a line that is not shown where a console can hide it: elsewhere it is read as any other one.
func AskSecret(s *session.State, question string) (string, error) {
	if s.Secret != nil {
		return s.Secret(question)
	}
	if _, err := io.WriteString(s.Stdout, question); err != nil {
		return "", err
	}
	return ReadLine(s.Stdin)
}

func trimReturn(line []byte) string {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return string(line)
}

// Host returns $Host (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.host.pshost).
func Host(s *session.State) *object.Object {
	build := "0"
	if version, err := s.System.Version(); err == nil {
		build = version[lastDot(version):]
	}

	o := object.New(object.Custom)
	o.Set("Name", "ConsoleHost").Set("Version", library.VersionValue("5.1."+build)).
		Set("InstanceId", "").Set("UI", hostUI(windowOf(s))).Set("CurrentCulture", Culture("en-US")).
		Set("CurrentUICulture", Culture("en-US")).Set("PrivateData", object.New(object.Custom)).
		Set("IsRunspacePushed", false)

	nothing := func(*object.Call) (object.Value, error) { return nil, nil }
	o.Class = func() *object.Class {
		return &object.Class{Name: "System.Management.Automation.Internal.Host.InternalHost", Methods: []object.Method{
			{Name: "SetShouldExit", Least: 1, Most: 1, Do: nothing},
			{Name: "EnterNestedPrompt", Do: nothing},
			{Name: "ExitNestedPrompt", Do: nothing},
		}}
	}

	return o
}

func lastDot(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return i + 1
		}
	}
	return 0
}

// hostUI returns $Host.UI: writing, reading a line, choices, and what the window is like, which has so many columns and
// rows.
func hostUI(columns, rows int64) *object.Object {
	size := func(w, h int64) *object.Object { return object.New(object.Custom).Set("Width", w).Set("Height", h) }
	raw := object.New(object.Custom).Set("ForegroundColor", "Gray").Set("BackgroundColor", "Black").
		Set("CursorPosition", object.New(object.Custom).Set("X", int64(0)).Set("Y", int64(0))).
		Set("WindowSize", size(columns, rows)).Set("BufferSize", size(columns, 3000)).Set("MaxWindowSize", size(columns, max(60, rows))).
		Set("WindowTitle", "Windows PowerShell").Set("KeyAvailable", false)

	raw.AddMethod(object.Method{Name: "ReadKey", Most: 1, Do: func(c *object.Call) (object.Value, error) {
		one := make([]byte, 1)
		if c.State.Stdin == nil {
			return nil, nil
		}
		if _, err := c.State.Stdin.Read(one); err != nil {
			return nil, nil //nolint:nilerr // nobody presses a key
		}
		return object.New(object.Custom).Set("VirtualKeyCode", int64(one[0])).Set("Character", string(one)).
			Set("KeyDown", true), nil
	}})

	raw.AddMethod(object.Method{Name: "FlushInputBuffer", Do: func(*object.Call) (object.Value, error) { return nil, nil }})
	ui := object.New(object.Custom).Set("RawUI", raw).Set("SupportsVirtualTerminal", true)
	say := func(name, mark, end string, errs bool) {
		ui.AddMethod(object.Method{Name: name, Most: 3, Do: func(c *object.Call) (object.Value, error) {
			text := ""
			if len(c.Args) > 0 {
				text = object.Text(c.Args[len(c.Args)-1])
			}

			w := c.State.Stdout
			if errs {
				w = c.State.Stderr
			}

			if c.State.Settle != nil {
				c.State.Settle()
			}
			if end != "" {
				end = c.State.Newline
			}

			_, err := fmt.Fprintf(w, "%s%s%s", mark, text, end)
			return nil, err
		}})
	}

	say("Write", "", "", false)
	say("WriteLine", "", "\n", false)
	say("WriteErrorLine", "", "\n", true)
	say("WriteWarningLine", "WARNING: ", "\n", false)
	say("WriteVerboseLine", "VERBOSE: ", "\n", false)
	say("WriteDebugLine", "DEBUG: ", "\n", false)
	ui.AddMethod(object.Method{Name: "ReadLine", Do: func(c *object.Call) (object.Value, error) {
		line, err := ReadLine(c.State.Stdin)
		if err != nil {
			return nil, nil //nolint:nilerr // at the end of the input there is no line
		}
		return line, nil
	}})

	return ui
}
