package jobs

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/base/lazyregexp"
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

// member is a job of the session: a program, or the action of an event.
type member interface {
	ended() bool
	object() *object.Object
	// received returns what it has output, and forgets that unless it is kept.
	received(keep bool) []object.Value
	// await waits for its end.
	await(s *session.State) error
	stop() error
}

func (j *job) received(keep bool) []object.Value {
	var lines []object.Value
	for line := range strings.Lines(j.out.take(keep, j.ended())) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}

func (j *job) await(s *session.State) error { return s.Await(j.done, nil) }

func (j *job) stop() error {
	j.stopped = true
	if err := j.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-j.done
	return nil
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

func (j *job) object() *object.Object {
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
	return object.New("job").Set("Id", int64(j.id)).Set("Name", j.name).Set("State", state)
}

func startJob(c *cmdlet.Call) error {
	b, ok := c.Values["scriptblock"].(*object.ScriptBlock)
	if !ok {
		return object.Thrown("Start-Job : a script block is missing.")
	}

	in, all := c.State, session.Keep[jobList](c.State)
	j := &job{
		id:   all.next(),
		name: c.Text("name"),
		done: make(chan struct{}),
	}
	if j.name == "" {
		j.name = fmt.Sprintf("Job%d", j.id)
	}

	j.cmd = exec.CommandContext(in.Context, in.Self, "-NonInteractive", "-NoProfile", "-EncodedCommand", encode(jobText(c, b)))
	j.cmd.Dir, j.cmd.Env = in.Dir, in.Environ()
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.out
	if err := j.cmd.Start(); err != nil {
		return c.Fail(err)
	}
	go func() {
		j.err = j.cmd.Wait()
		close(j.done)
	}()

	all.list = append(all.list, numbered{member: j, id: j.id})
	return c.Out.Put(j.object())
}

// using matches the variables of the caller in a job's block.
var using = lazyregexp.New(`(?i)\$using:(\w+)`)

// jobText returns the script of a job: the variables of the caller that it uses, and its block with its arguments.
func jobText(c *cmdlet.Call, b *object.ScriptBlock) string {
	var text strings.Builder
	seen := map[string]bool{}
	for _, m := range using.FindAllStringSubmatch(b.Words, -1) {
		if name := strings.ToLower(m[1]); !seen[name] {
			seen[name] = true
			v, _ := c.Scope.Drive("variable").Content(name)
			text.WriteString("${" + name + "} = " + literal(v, 0) + "\n")
		}
	}

	arguments := object.Items(c.Values["argumentlist"])
	if len(arguments) == 0 && text.Len() == 0 {
		return b.Words
	}
	text.WriteString("& {" + b.Words + "\n}")
	for _, v := range arguments {
		text.WriteString(" " + literal(v, 0))
	}

	return text.String()
}

// mostLiteral is how deep a value within values is written for a job.
const mostLiteral = 10

// literal returns a value as a script writes it: what is no text, number, list or table is its text.
func literal(v object.Value, depth int) string {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	switch v := object.Plain(v).(type) {
	case nil:
		return "$null"
	case bool:
		return "$" + strings.ToLower(object.Text(v))
	case int64, float64:
		return "(" + object.Text(v) + ")"
	case []object.Value:
		if depth > mostLiteral {
			break
		}
		var items []string
		for _, item := range v {
			items = append(items, literal(item, depth+1))
		}
		return "@(" + strings.Join(items, ", ") + ")"

	case *object.Hashtable:
		if depth > mostLiteral {
			break
		}

		var items []string
		for _, k := range v.Keys {
			items = append(items, quoted(object.Text(k))+" = "+literal(v.Get(k), depth+1))
		}

		return "@{" + strings.Join(items, "; ") + "}"
	}

	return quoted(object.Text(v))
}

// jobList are those of a session.
type jobList struct {
	list  []numbered
	count int
}

// numbered is a job with its number in the session.
type numbered struct {
	member
	id int
}

// selected returns the jobs that a cmdlet's parameters or input name.
func selected(c *cmdlet.Call) []numbered {
	ids := map[string]bool{}
	for v := range object.Each(append(object.Items(c.Values["id"]), c.Input...)) {
		if o, ok := v.(*object.Object); ok && o.Kind == "job" {
			v = o.Props["id"]
		}
		ids[object.Text(v)] = true
	}

	var chosen []numbered
	for _, j := range session.Keep[jobList](c.State).list {
		if ids[fmt.Sprint(j.id)] || (len(ids) == 0 && !c.Piped) {
			chosen = append(chosen, j)
		}
	}

	return chosen
}

func getJob(c *cmdlet.Call) error {
	for _, j := range selected(c) {
		if err := c.Out.Put(j.object()); err != nil {
			return err
		}
	}
	return nil
}

func waitJob(c *cmdlet.Call) error {
	for _, j := range selected(c) {
		if err := j.await(c.State); err != nil {
			return err
		}
		if err := c.Out.Put(j.object()); err != nil {
			return err
		}
	}
	return nil
}

// next returns the number of a new job; PowerShell counts a job and its child.
func (j *jobList) next() int {
	j.count++
	return 2*j.count - 1
}

// receiveJob outputs what jobs have printed, line by line.
func receiveJob(c *cmdlet.Call) error {
	for _, j := range selected(c) {
		if c.Flags["wait"] {
			if err := j.await(c.State); err != nil {
				return err
			}
		}

		for _, v := range j.received(c.Flags["keep"]) {
			if err := c.Out.Put(v); err != nil {
				return err
			}
		}
	}

	return nil
}

func stopJob(c *cmdlet.Call) error {
	for _, j := range selected(c) {
		if j.ended() {
			continue
		}
		if err := j.stop(); err != nil {
			return c.Fail(err)
		}
	}
	return nil
}

// removeJob forgets jobs that have ended, with -Force also others, which it stops.
func removeJob(c *cmdlet.Call) error {
	for _, j := range selected(c) {
		if !j.ended() && !c.Flags["force"] {
			err := words.Errorf("The command cannot remove the job with the job ID %d because the job is not finished. To remove "+
				"the job, first stop the job, or use the Force parameter.", j.id)
			if err := c.Fail(err); err != nil {
				return err
			}
			continue
		}

		if err := stopJob(&cmdlet.Call{
			Cmdlet: c.Cmdlet,
			Scope:  c.Scope,
			State:  c.State,
			Values: map[string]object.Value{"id": int64(j.id)},
		}); err != nil {
			return err
		}

		all := session.Keep[jobList](c.State)
		all.list = slices.DeleteFunc(all.list, func(other numbered) bool { return other == j })
	}

	return nil
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	ofJobs := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values = []string{"id"}
		c.Positions = []string{"id"}
		c.Also = map[string]string{"job": "id"}
		c.Takes = "id"
		c.Needs = []string{"id"}
		return c
	}

	return append(eventCmdlets(), []cmdlet.Cmdlet{
		{
			Name:      "Start-Job",
			Aliases:   []string{"sajb"},
			Run:       startJob,
			Values:    []string{"scriptblock", "name", "argumentlist"},
			Also:      map[string]string{"args": "argumentlist"},
			Positions: []string{"scriptblock"},
			Needs:     []string{"scriptblock"},
			About:     "a script block in a process of its own, which fails where its code is not 0",
		},
		{
			Name:      "Get-Job",
			Aliases:   []string{"gjb"},
			About:     "the session's jobs",
			Run:       getJob,
			Values:    []string{"id"},
			Positions: []string{"id"},
		},
		ofJobs(cmdlet.Cmdlet{
			Name:    "Wait-Job",
			Aliases: []string{"wjb"},
			About:   "waits for jobs",
			Run:     waitJob,
		}),
		ofJobs(cmdlet.Cmdlet{
			Name:    "Receive-Job",
			Aliases: []string{"rcjb"},
			About:   "what jobs have printed, as lines of text",
			Run:     receiveJob,
			Flags:   []string{"wait", "keep"},
		}),
		ofJobs(cmdlet.Cmdlet{
			Name:    "Stop-Job",
			Aliases: []string{"spjb"},
			About:   "ends jobs",
			Run:     stopJob,
		}),
		ofJobs(cmdlet.Cmdlet{
			Name:    "Remove-Job",
			Aliases: []string{"rjb"},
			About:   "forgets jobs that have ended",
			Run:     removeJob,
			Flags:   []string{"force"},
		}),
	}...)
}

// encode returns a script as -EncodedCommand takes it: base64 of UTF-16, the low byte first.
func encode(text string) string {
	var data []byte
	for _, u := range utf16.Encode([]rune(text)) {
		data = append(data, byte(u), byte(u>>8))
	}
	return base64.StdEncoding.EncodeToString(data)
}
