package powershell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// started is a program that Start-Process has started. It goes on when the session ends.
type started struct {
	cmd  *exec.Cmd
	name string
	done chan struct{} // closed when it has ended
}

func (s *started) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// processClass is System.Diagnostics.Process, of programs that the session has started.
func processClass() *class {
	of := func(name string, get func(s *started) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) { return get(own[*started](v)), nil }}
	}
	return &class{
		name: "System.Diagnostics.Process",
		same: func(v any) string { return fmt.Sprint(v.(*started).cmd.Process.Pid) },
		props: []field{
			of("Id", func(s *started) value { return int64(s.cmd.Process.Pid) }),
			of("ProcessName", func(s *started) value { return s.name }),
			of("Name", func(s *started) value { return s.name }),
			of("HasExited", func(s *started) value { return s.ended() }),
			of("ExitCode", func(s *started) value {
				if !s.ended() {
					return nil
				}
				return int64(int32(s.cmd.ProcessState.ExitCode())) // Windows' codes have 32 bits
			}),
		},
		methods: []routine{
			{name: "WaitForExit", most: 1, do: func(c *dotCall) (value, error) {
				s := own[*started](c.on)
				var late <-chan time.Time
				if len(c.args) > 0 {
					millis, err := c.whole(0)
					if err != nil {
						return nil, err
					}
					if millis >= 0 {
						late = time.After(time.Duration(millis) * time.Millisecond)
					}
				}
				select {
				case <-s.done:
				case <-late:
				case <-c.f.in.ctx.Done():
					return nil, c.f.in.ctx.Err()
				}
				if len(c.args) == 0 {
					return nil, nil
				}
				return s.ended(), nil
			}},
			{name: "Kill", do: func(c *dotCall) (value, error) {
				err := own[*started](c.on).cmd.Process.Kill()
				if errors.Is(err, os.ErrProcessDone) {
					return nil, raise("System.InvalidOperationException",
						"Cannot process request because the process has exited.")
				}
				return nil, err
			}},
			{name: "Refresh", do: func(*dotCall) (value, error) { return nil, nil }}, // nothing is kept
		},
	}
}

// startProcess starts a program beside the session.
func startProcess(c *call) error {
	if c.flags["nonewwindow"] && c.values["windowstyle"] != nil {
		return thrown("%s : Parameters \"-NoNewWindow\" and \"-WindowStyle\" cannot be specified at the same time.", c.name)
	}
	in := c.f.in
	word := c.text("filepath")
	path, err := in.find(word)
	if err != nil {
		path, err = in.executable(in.path(word))
	}
	if err != nil {
		return c.fail(itsWords("This command cannot be run due to the error: The system cannot find the file specified."))
	}
	cmd := exec.Command(path) // it goes on when the session ends
	cmd.Dir, cmd.Env = in.dir, in.environ()
	if dir := c.text("workingdirectory"); dir != "" {
		cmd.Dir = in.path(dir)
	}
	var words []string
	for v := range each(c.values["argumentlist"]) {
		words = append(words, text(v))
	}
	setArguments(cmd, strings.Join(words, " ")) // without quotation marks, as in PowerShell
	if c.flags["nonewwindow"] {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in.session.Stdin, in.session.Stdout, in.session.Stderr
	}
	closeFiles, err := c.redirect(cmd)
	if err != nil {
		return c.fail(err)
	}
	in.format.end()
	err = cmd.Start()
	closeFiles()
	if err != nil {
		return c.fail(itsWords("This command cannot be run due to the error: %v", err))
	}
	s := &started{cmd: cmd, name: process{name: fileName(path)}.shortName(), done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its code is in ProcessState
		close(s.done)
	}()
	if c.flags["wait"] {
		select {
		case <-s.done:
		case <-in.ctx.Done():
			return in.ctx.Err()
		}
	}
	if c.flags["passthru"] {
		return c.out.put(&instance{processClass(), s})
	}
	return nil
}

// redirect opens the files that a program reads and writes; the function that it returns closes them.
func (c *call) redirect(cmd *exec.Cmd) (closeFiles func(), err error) {
	var files []*os.File
	closeFiles = func() {
		for _, f := range files {
			_ = f.Close() // the program has its own
		}
	}
	open := func(name string, how int) (*os.File, error) {
		path := c.text(name)
		if path == "" {
			return nil, nil
		}
		if err := c.knownPath(path); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(c.f.in.path(path), how, 0o644)
		if err != nil {
			return nil, because(path, err)
		}
		files = append(files, f)
		return f, nil
	}
	const out, errs = "redirectstandardoutput", "redirectstandarderror"
	if c.text(out) != "" && c.f.in.path(c.text(out)) == c.f.in.path(c.text(errs)) {
		return closeFiles, itsWords("This command cannot be run because \"RedirectStandardOutput\" and " +
			"\"RedirectStandardError\" are same. Give different inputs and Run your command again.")
	}
	for _, name := range []string{"redirectstandardinput", out, errs} {
		how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if name == "redirectstandardinput" {
			how = os.O_RDONLY
		}
		f, err := open(name, how)
		if err != nil {
			closeFiles()
			return nil, err
		}
		switch {
		case f == nil:
		case name == out:
			cmd.Stdout = f
		case name == errs:
			cmd.Stderr = f
		default:
			cmd.Stdin = f
		}
	}
	return closeFiles, nil
}

// meant are the processes that Stop-Process and Wait-Process are for: by -Id, -Name or from the pipeline.
func (c *call) meant() ([]process, error) {
	found, err := c.f.in.session.system().processes()
	if err != nil {
		return nil, c.fail(err)
	}
	if c.values["name"] != nil && c.values["id"] != nil {
		return nil, thrown("%s : -Name and -Id exclude each other.", c.name)
	}
	if v, ok := c.values["name"]; ok {
		return c.pickProcesses(found, v, false)
	}
	ids := c.values["id"]
	if ids == nil {
		list := []value{}
		for _, v := range c.items(objectName) {
			id, err := property(v, "id")
			if err != nil {
				return nil, err
			}
			list = append(list, id)
		}
		ids = list
	}
	return c.pickProcesses(found, ids, true)
}

func stopProcess(c *call) error {
	found, err := c.meant()
	if err != nil {
		return err
	}
	for _, p := range found {
		if err := c.f.in.session.system().kill(p.id); err != nil {
			err := itsWords("Cannot stop process \"%s (%d)\" because of the following error: %v", p.shortName(), p.id, err)
			if err := c.fail(err); err != nil {
				return err
			}
			continue
		}
		if c.flags["passthru"] {
			if err := c.out.put(p.object()); err != nil {
				return err
			}
		}
	}
	return nil
}

// killProcess ends a process.
func killProcess(id int64) error {
	p, err := os.FindProcess(int(id))
	if err != nil {
		return err
	}
	return p.Kill()
}

// waitPause is how often Wait-Process looks.
const waitPause = 50 * time.Millisecond

// waitProcess waits until processes have ended.
func waitProcess(c *call) error {
	found, err := c.meant()
	if err != nil {
		return err
	}
	var late <-chan time.Time
	if v, ok := c.values["timeout"]; ok {
		seconds, err := integer(v)
		if err != nil {
			return err
		}
		late = time.After(time.Duration(seconds) * time.Second)
	}
	for {
		running, err := c.f.in.session.system().processes()
		if err != nil {
			return c.fail(err)
		}
		found = slices.DeleteFunc(found, func(p process) bool { return !slices.Contains(running, p) })
		if len(found) == 0 {
			return nil
		}
		select {
		case <-time.After(waitPause):
		case <-c.f.in.ctx.Done():
			return c.f.in.ctx.Err()
		case <-late:
			for _, p := range found {
				err := itsWords("This command stopped operation of \"%s (%d)\" because the process was not stopped in the "+
					"specified time-out.", p.shortName(), p.id)
				if err := c.fail(err); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

// object is a process as Get-Process shows it.
func (p process) object() *object {
	name := p.shortName()
	return newObject("process").set("Id", p.id).set("ProcessName", name).set("Name", name)
}

func processCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:    "Start-Process",
			aliases: []string{"saps", "start"},
			about: "starts a program beside the script; -Wait waits for the program itself, and without -NoNewWindow or a " +
				"redirection its output is lost, as there are no windows",
			run: startProcess,
			values: []string{
				"filepath", "argumentlist", "workingdirectory", "redirectstandardinput", "redirectstandardoutput",
				"redirectstandarderror", "windowstyle",
			},
			flags:     []string{"wait", "nonewwindow", "passthru"},
			also:      map[string]string{"args": "argumentlist"},
			positions: []string{"filepath", "argumentlist"},
			needs:     []string{"filepath"},
			allowed:   map[string][]string{"windowstyle": {"normal", "hidden", "minimized", "maximized"}},
		},
		{
			name:      "Stop-Process",
			aliases:   []string{"spps", "kill"},
			about:     "ends processes",
			run:       stopProcess,
			values:    []string{"id", "name", objectName},
			flags:     []string{"force", "passthru"},
			positions: []string{"id"},
			takes:     objectName,
			needs:     []string{"id|name|" + objectName},
		},
		{
			name:      "Wait-Process",
			about:     "waits until processes have ended",
			run:       waitProcess,
			values:    []string{"name", "id", "timeout", objectName},
			positions: []string{"name"},
			takes:     objectName,
			needs:     []string{"id|name|" + objectName},
		},
	}
}
