package management

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

func getProcess(c *cmdlet.Call) error {
	found, err := c.State.System.Processes()
	if err != nil {
		return c.Fail(err)
	}
	if c.Values["name"] != nil && c.Values["id"] != nil {
		return object.Thrown("Get-Process : -Name and -Id exclude each other.")
	}

	picked := found
	for _, by := range []string{"name", "id"} {
		if v, given := c.Values[by]; given {
			if picked, err = pickProcesses(c, found, v, by == "id"); err != nil {
				return err
			}
		}
	}

	for _, p := range picked {
		if err := c.Out.Put(processObject(c.State.System, p)); err != nil {
			return err
		}
	}

	return nil
}

// pickProcesses returns the processes with the names, which may have wild cards, or with the numbers.
func pickProcesses(c *cmdlet.Call, found []system.Process, v object.Value, byID bool) ([]system.Process, error) {
	var picked []system.Process
	for wanted := range object.Each(v) {
		re, err := pattern.Wildcard(object.Text(wanted))
		if err != nil {
			return nil, err
		}

		before := len(picked)
		for _, p := range found {
			if (byID && fmt.Sprint(p.ID) == object.Text(wanted)) || (!byID && re.MatchString(shortName(p))) {
				picked = append(picked, p)
			}
		}
		if len(picked) == before && (byID || !provider.HasWildcard(object.Text(wanted))) {
			if err := c.Fail(noProcess(wanted, byID)); err != nil {
				return nil, err
			}
		}
	}

	return picked, nil
}

// noProcess returns the error of a process that is not there, by its name or its number.
func noProcess(wanted object.Value, byID bool) error {
	e := &object.Exception{
		Class:    "Microsoft.PowerShell.Commands.ProcessCommandException",
		ID:       "NoProcessFoundForGivenName",
		Category: object.ObjectNotFound,
		Target:   wanted,
		Message: fmt.Sprintf("Cannot find a process with the name \"%s\". Verify the process name and call the cmdlet again.",
			object.Text(wanted)),
	}
	if byID {
		e.ID = "NoProcessFoundForGivenId"
		e.Message = fmt.Sprintf("Cannot find a process with the process identifier %s.", object.Text(wanted))
	}
	return e
}

func shortName(p system.Process) string {
	if n := len(p.Name) - len(".exe"); n > 0 && strings.EqualFold(p.Name[n:], ".exe") {
		return p.Name[:n]
	}
	return p.Name
}

// startProcess starts a program beside the session.
func startProcess(c *cmdlet.Call) error {
	if c.Flags["nonewwindow"] && c.Values["windowstyle"] != nil {
		return object.Thrown("%s : Parameters \"-NoNewWindow\" and \"-WindowStyle\" cannot be specified at the same time.", c.Name)
	}

	in := c.State
	word := c.Text("filepath")
	path, err := in.Find(word)
	if err != nil {
		path, err = in.Executable(in.Path(word))
	}
	if err != nil {
		return c.Fail(words.Errorf("This command cannot be run due to the error: The system cannot find the file specified."))
	}

	cmd := exec.Command(path) // it goes on when the session ends
	cmd.Dir, cmd.Env = in.Dir, in.Environ()
	if dir := c.Text("workingdirectory"); dir != "" {
		cmd.Dir = in.Path(dir)
	}
	var arguments []string
	for v := range object.Each(c.Values["argumentlist"]) {
		arguments = append(arguments, object.Text(v))
	}

	setArguments(cmd, strings.Join(arguments, " ")) // without quotation marks, as in PowerShell
	if c.Flags["nonewwindow"] {
		cmd.Stdin = in.Stdin
		cmd.Stdout, cmd.Stderr = in.Stdout, in.Stderr
	}
	closeFiles, err := redirect(c, cmd)
	if err != nil {
		return c.Fail(err)
	}

	c.Scope.Settle()
	err = cmd.Start()
	closeFiles()
	if err != nil {
		return c.Fail(words.Errorf("This command cannot be run due to the error: %v", err))
	}

	s := &dotnet.Started{
		Cmd:  cmd,
		Name: shortName(system.Process{Name: dotnet.FileName(path)}),
		Done: make(chan struct{}),
	}
	go func() {
		_ = cmd.Wait() // its code is in ProcessState
		close(s.Done)
	}()

	if c.Flags["wait"] {
		select {
		case <-s.Done:
		case <-in.Context.Done():
			return in.Context.Err()
		}
	}

	if c.Flags["passthru"] {
		return c.Out.Put(&object.Instance{Of: dotnet.ProcessClass(), V: s})
	}
	return nil
}

// redirect opens the files that a program reads and writes; the function that it returns closes them.
func redirect(c *cmdlet.Call, cmd *exec.Cmd) (closeFiles func(), err error) {
	var files []*os.File
	closeFiles = func() {
		for _, f := range files {
			_ = f.Close() // the program has its own
		}
	}

	open := func(name string, how int) (*os.File, error) {
		path := c.Text(name)
		if path == "" {
			return nil, nil
		}
		if err := c.KnownPath(path); err != nil {
			return nil, err
		}

		f, err := os.OpenFile(c.State.Path(path), how, 0o644)
		if err != nil {
			return nil, provider.Because(path, err)
		}
		files = append(files, f)
		return f, nil
	}

	const out, errs = "redirectstandardoutput", "redirectstandarderror"
	if c.Text(out) != "" && c.State.Path(c.Text(out)) == c.State.Path(c.Text(errs)) {
		return closeFiles, words.Errorf("This command cannot be run because \"RedirectStandardOutput\" and " +
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

// chosenProcesses returns the processes that Stop-Process and Wait-Process are for: by -Id, -Name or from the pipeline.
func chosenProcesses(c *cmdlet.Call) ([]system.Process, error) {
	found, err := c.State.System.Processes()
	if err != nil {
		return nil, c.Fail(err)
	}
	if c.Values["name"] != nil && c.Values["id"] != nil {
		return nil, object.Thrown("%s : -Name and -Id exclude each other.", c.Name)
	}

	if v, ok := c.Values["name"]; ok {
		return pickProcesses(c, found, v, false)
	}

	ids := c.Values["id"]
	if ids == nil {
		list := []object.Value{}
		for _, v := range c.Items(cmdlet.ObjectName) {
			id, err := object.Property(v, "id")
			if err != nil {
				return nil, err
			}
			list = append(list, id)
		}

		ids = list
	}

	return pickProcesses(c, found, ids, true)
}

func stopProcess(c *cmdlet.Call) error {
	found, err := chosenProcesses(c)
	if err != nil {
		return err
	}

	for _, p := range found {
		if err := c.State.System.Kill(p.ID); err != nil {
			err := words.Errorf("Cannot stop process \"%s (%d)\" because of the following error: %v",
				shortName(p), p.ID, err)
			if err := c.Fail(err); err != nil {
				return err
			}
			continue
		}

		if c.Flags["passthru"] {
			if err := c.Out.Put(processObject(c.State.System, p)); err != nil {
				return err
			}
		}
	}

	return nil
}

// waitPause is how often Wait-Process looks.
const waitPause = 50 * time.Millisecond

// waitProcess waits until processes have ended.
func waitProcess(c *cmdlet.Call) error {
	found, err := chosenProcesses(c)
	if err != nil {
		return err
	}

	var late <-chan time.Time
	if v, ok := c.Values["timeout"]; ok {
		seconds, err := object.Integer(v)
		if err != nil {
			return err
		}
		late = time.After(time.Duration(seconds) * time.Second)
	}

	for {
		running, err := c.State.System.Processes()
		if err != nil {
			return c.Fail(err)
		}
		found = slices.DeleteFunc(found, func(p system.Process) bool { return !slices.Contains(running, p) })
		if len(found) == 0 {
			return nil
		}

		select {
		case <-time.After(waitPause):
		case <-c.State.Context.Done():
			return c.State.Context.Err()
		case <-late:
			for _, p := range found {
				err := words.Errorf("This command stopped operation of \"%s (%d)\" because the process was not stopped in the "+
					"specified time-out.", shortName(p), p.ID)
				if err := c.Fail(err); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

func processCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Get-Process",
			Aliases:   []string{"ps", "gps"},
			Run:       getProcess,
			About:     "processes, with what Windows counts of them",
			Values:    []string{"name", "id"},
			Positions: []string{"name"},
		},
		{
			Name:    "Start-Process",
			Aliases: []string{"saps", "start"},
			About: "starts a program beside the script; -Wait waits for the program itself, and without -NoNewWindow or a " +
				"redirection its output is lost, as there are no windows",
			Run: startProcess,
			Values: []string{
				"filepath", "argumentlist", "workingdirectory", "redirectstandardinput", "redirectstandardoutput",
				"redirectstandarderror", "windowstyle",
			},
			Flags:     []string{"wait", "nonewwindow", "passthru"},
			Also:      map[string]string{"args": "argumentlist"},
			Positions: []string{"filepath", "argumentlist"},
			Needs:     []string{"filepath"},
			Allowed:   map[string][]string{"windowstyle": {"normal", "hidden", "minimized", "maximized"}},
		},
		{
			Name:      "Stop-Process",
			Aliases:   []string{"spps", "kill"},
			About:     "ends processes",
			Run:       stopProcess,
			Values:    []string{"id", "name", cmdlet.ObjectName},
			Flags:     []string{"force", "passthru"},
			Positions: []string{"id"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"id|name|" + cmdlet.ObjectName},
		},
		{
			Name:      "Wait-Process",
			About:     "waits until processes have ended",
			Run:       waitProcess,
			Values:    []string{"name", "id", "timeout", cmdlet.ObjectName},
			Positions: []string{"name"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"id|name|" + cmdlet.ObjectName},
		},
	}
}
