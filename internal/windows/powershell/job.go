package powershell

import (
	"fmt"
	"os/exec"
	"strings"
)

// job is a script block that runs in a powershell.exe of its own, as in Windows PowerShell. It ends with the session.
type job struct {
	id   int
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

func (j *job) object() *object {
	state := "Running"
	select {
	case <-j.done:
		state = "Completed"
		if j.err != nil {
			state = "Failed"
		}
	default:
	}
	return newObject("job").set("Id", int64(j.id)).set("Name", j.name).set("State", state)
}

func startJob(c *call) error {
	b, ok := c.values["scriptblock"].(*scriptBlock)
	if !ok {
		return thrown("Start-Job : a script block is missing.")
	}
	in := c.f.in
	j := &job{id: 2*len(in.jobs) + 1, name: c.text("name"), done: make(chan struct{})}
	if j.name == "" {
		j.name = fmt.Sprintf("Job%d", j.id)
	}
	j.cmd = exec.CommandContext(in.ctx, in.session.Self, "-NonInteractive", "-EncodedCommand", encode(b.script.text))
	j.cmd.Dir, j.cmd.Env = in.dir, in.environ()
	if err := j.cmd.Start(); err != nil {
		return c.fail(err)
	}
	go func() {
		j.err = j.cmd.Wait()
		close(j.done)
	}()
	in.jobs = append(in.jobs, j)
	return c.out.put(j.object())
}

// selected returns the jobs that a cmdlet's parameters or input name.
func (c *call) selected() []*job {
	ids := map[string]bool{}
	for v := range each(c.values["id"]) {
		ids[text(v)] = true
	}
	for _, v := range c.input {
		if o, ok := v.(*object); ok && o.kind == "job" {
			ids[text(o.props["id"])] = true
		}
	}
	var jobs []*job
	for _, j := range c.f.in.jobs {
		if ids[fmt.Sprint(j.id)] || len(ids) == 0 && !c.piped {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

func getJob(c *call) error {
	for _, j := range c.selected() {
		if err := c.out.put(j.object()); err != nil {
			return err
		}
	}
	return nil
}

func waitJob(c *call) error {
	for _, j := range c.selected() {
		select {
		case <-j.done:
		case <-c.f.in.ctx.Done():
			return c.f.in.ctx.Err()
		}
		if err := c.out.put(j.object()); err != nil {
			return err
		}
	}
	return nil
}

func getProcess(c *call) error {
	found, err := c.f.in.session.system().processes()
	if err != nil {
		return c.fail(err)
	}
	if c.values["name"] != nil && c.values["id"] != nil {
		return thrown("Get-Process : -Name and -Id exclude each other.")
	}
	picked := found
	for _, by := range []string{"name", "id"} {
		if v, given := c.values[by]; given {
			if picked, err = c.pickProcesses(found, v, by == "id"); err != nil {
				return err
			}
		}
	}
	for _, p := range picked {
		if err := c.out.put(p.object()); err != nil {
			return err
		}
	}
	return nil
}

// pickProcesses returns the processes with the names, which may have wild cards, or with the numbers.
func (c *call) pickProcesses(found []process, v value, byID bool) ([]process, error) {
	var picked []process
	for wanted := range each(v) {
		re, err := wildcard(text(wanted))
		if err != nil {
			return nil, err
		}
		before := len(picked)
		for _, p := range found {
			if (byID && fmt.Sprint(p.id) == text(wanted)) || (!byID && re.MatchString(p.shortName())) {
				picked = append(picked, p)
			}
		}
		if len(picked) == before && (byID || !hasWildcard(text(wanted))) {
			err := itsWords("Cannot find a process with the name or identifier %q.", text(wanted))
			if err := c.fail(err); err != nil {
				return nil, err
			}
		}
	}
	return picked, nil
}

// process is a running program.
type process struct {
	id   int64
	name string
}

func (p process) shortName() string {
	if n := len(p.name) - len(".exe"); n > 0 && strings.EqualFold(p.name[n:], ".exe") {
		return p.name[:n]
	}
	return p.name
}
