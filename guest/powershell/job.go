package powershell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// job is a script block that runs in a powershell.exe of its own, as in Windows PowerShell. It ends with the session.
type job struct {
	id   int
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	out  output
	// stopped says that Stop-Job ended it.
	stopped bool
}

// output is what a job has printed and nobody has received.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	return len(p), nil
}

// take returns the text, and forgets it unless it is kept. Of a job that runs, the last line may not be whole yet.
func (o *output) take(keep bool, whole bool) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.text)
	if !whole {
		n = bytes.LastIndexByte(o.text, '\n') + 1
	}
	s := string(o.text[:n])
	if !keep {
		o.text = o.text[n:]
	}
	return s
}

// ended reports whether the job has ended.
func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

func (j *job) object() *object {
	state := "Running"
	switch {
	case !j.ended():
	case j.err == nil:
		state = "Completed"
	case j.stopped:
		state = "Stopped"
	default:
		state = "Failed"
	}
	return newObject("job").set("Id", int64(j.id)).set("Name", j.name).set("State", state)
}

func startJob(c *call) error {
	b, ok := c.values["scriptblock"].(*scriptBlock)
	if !ok {
		return thrown("Start-Job : a script block is missing.")
	}
	in := c.f.in
	j := &job{id: in.nextJob(), name: c.text("name"), done: make(chan struct{})}
	if j.name == "" {
		j.name = fmt.Sprintf("Job%d", j.id)
	}
	j.cmd = exec.CommandContext(in.ctx, in.session.Self, "-NonInteractive", "-EncodedCommand", encode(b.script.text))
	j.cmd.Dir, j.cmd.Env, j.cmd.Stdout, j.cmd.Stderr = in.dir, in.environ(), &j.out, &j.out
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
	for v := range each(append(itemsOf(c.values["id"]), c.input...)) {
		if o, ok := v.(*object); ok && o.kind == "job" {
			v = o.props["id"]
		}
		ids[text(v)] = true
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

// nextJob is the number of a new job; PowerShell counts a job and its child.
func (in *interpreter) nextJob() int {
	in.jobCount++
	return 2*in.jobCount - 1
}

// receiveJob outputs what jobs have printed, line by line.
func receiveJob(c *call) error {
	for _, j := range c.selected() {
		if c.flags["wait"] {
			select {
			case <-j.done:
			case <-c.f.in.ctx.Done():
				return c.f.in.ctx.Err()
			}
		}
		for line := range strings.Lines(j.out.take(c.flags["keep"], j.ended())) {
			if err := c.out.put(strings.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

func stopJob(c *call) error {
	for _, j := range c.selected() {
		if j.ended() {
			continue
		}
		j.stopped = true
		if err := j.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return c.fail(err)
		}
		<-j.done
	}
	return nil
}

// removeJob forgets jobs that have ended, with -Force also others, which it stops.
func removeJob(c *call) error {
	for _, j := range c.selected() {
		if !j.ended() && !c.flags["force"] {
			err := itsWords("The command cannot remove the job with the job ID %d because the job is not finished. To remove "+
				"the job, first stop the job, or use the Force parameter.", j.id)
			if err := c.fail(err); err != nil {
				return err
			}
			continue
		}
		if err := stopJob(&call{cmdlet: c.cmdlet, f: c.f, values: map[string]value{"id": int64(j.id)}}); err != nil {
			return err
		}
		c.f.in.jobs = slices.DeleteFunc(c.f.in.jobs, func(other *job) bool { return other == j })
	}
	return nil
}

func jobCmdlets() []cmdlet {
	ofJobs := func(c cmdlet) cmdlet {
		c.values = []string{"id"}
		c.positions = []string{"id"}
		c.also = map[string]string{"job": "id"}
		c.takes = "id"
		c.needs = []string{"id"}
		return c
	}
	return []cmdlet{
		{
			name:      "Start-Job",
			aliases:   []string{"sajb"},
			run:       startJob,
			values:    []string{"scriptblock", "name"},
			positions: []string{"scriptblock"},
			needs:     []string{"scriptblock"},
			about:     "a script block in a process of its own, which fails where its code is not 0",
		},
		{
			name:      "Get-Job",
			aliases:   []string{"gjb"},
			about:     "the session's jobs",
			run:       getJob,
			values:    []string{"id"},
			positions: []string{"id"},
		},
		ofJobs(cmdlet{name: "Wait-Job", aliases: []string{"wjb"}, about: "waits for jobs", run: waitJob}),
		ofJobs(cmdlet{
			name:    "Receive-Job",
			aliases: []string{"rcjb"},
			about:   "what jobs have printed, as lines of text",
			run:     receiveJob,
			flags:   []string{"wait", "keep"},
		}),
		ofJobs(cmdlet{name: "Stop-Job", aliases: []string{"spjb"}, about: "ends jobs", run: stopJob}),
		ofJobs(cmdlet{
			name:    "Remove-Job",
			aliases: []string{"rjb"},
			about:   "forgets jobs that have ended",
			run:     removeJob,
			flags:   []string{"force"},
		}),
	}
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
