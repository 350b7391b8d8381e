package jobs

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"mullion.dev/mullion/guest/powershell/clixml"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// ServerMode is the argument with which a job's powershell.exe sends objects in place of showing them.
const ServerMode = "-ServerMode"

// message is what a job has sent: an object of one of its streams.
type message struct {
	from clixml.Stream
	v    object.Value
}

// job is a script block that runs in a powershell.exe of its own, as in Windows PowerShell. It ends with the session.
type job struct {
	id      int
	name    string
	command string
	cmd     *exec.Cmd
	begun   time.Time
	done    chan struct{}
	shown   *object.Object

	mu       sync.Mutex
	messages []message
	ending   clixml.Stream       // how the script has said that it ended
	reason   *object.ErrorRecord // why it failed
	ended    time.Time
	stopped  bool // by Stop-Job
}

// member is a job of the session: a program, or the action of an event.
type member interface {
	state() string
	object() *object.Object
	// received returns what it has output, and forgets that unless it is kept.
	received(keep bool) []message
	// await waits for its end, or until it is late.
	await(s *session.State, late <-chan time.Time) error
	stop() error
}

// over says whether a job has ended.
func over(m member) bool {
	return slices.Contains([]string{"Completed", "Failed", "Stopped"}, m.state())
}

// run starts a job's program, which runs a script.
func (j *job) run(in *session.State, script string) error {
	j.cmd = exec.CommandContext(in.Whole, in.Self, "-NonInteractive", "-NoProfile", ServerMode, "-EncodedCommand", encode(script))
	j.cmd.Dir, j.cmd.Env = in.Dir, in.Environ()
	out, sent := io.Pipe()
	var said strings.Builder // by whoever does not know of objects
	j.cmd.Stdout, j.cmd.Stderr = sent, &said
	j.cmd.WaitDelay = leftOpen
	if err := j.cmd.Start(); err != nil {
		return err
	}

	go func() {
		defer close(j.done)
		var err error
		go func() {
			err = j.cmd.Wait()
			_ = sent.Close()
		}()
		j.read(out, in.System.Seals) // until it is closed
		j.end(err, said.String())
	}()
	return nil
}

// leftOpen is how long what a job has sent is read after its end: programs that it has started and left running may
// have its output, and a job does not wait for them.
const leftOpen = time.Second

// read takes what the program sends, until it ends.
func (j *job) read(out io.Reader, seals clixml.Sealer) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			from, v, wrong := clixml.Received(line, seals)
			if wrong != nil {
				v = clixml.Record(&object.ErrorRecord{Message: wrong.Error()})
			}
			j.take(from, v)
		}
		if err != nil {
			return
		}
	}
}

// take keeps what the program has sent.
func (j *job) take(from clixml.Stream, v object.Value) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch from {
	case clixml.Failed:
		j.ending, j.reason = from, clixml.RecordOf(v)
		j.messages = append(j.messages, message{clixml.Errors, v})
	case clixml.Completed:
		j.ending = from
	default:
		j.messages = append(j.messages, message{from, v})
	}
}

// end notes that the program has ended. One that has not said how was killed, or could not read its script.
func (j *job) end(err error, said string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = time.Now()
	if j.ending != "" || j.stopped {
		return
	}
	if said = strings.TrimSpace(said); said == "" {
		said = "it ended"
		if err != nil {
			said = err.Error()
		}
	}
	j.ending = clixml.Failed
	j.reason = &object.ErrorRecord{
		Message: "The background process reported an error with the following message: " + said + ".", Class: object.RemoteException,
		ID: "2100,PSSessionStateBroken", Category: "OpenError",
	}
	j.messages = append(j.messages, message{clixml.Errors, clixml.Record(j.reason)})
}

func (j *job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// state returns JobState.
func (j *job) state() string {
	over := j.over()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case !over:
		return "Running"
	case j.stopped:
		return "Stopped"
	case j.ending == clixml.Failed:
		return "Failed"
	}
	return "Completed"
}

func (j *job) received(keep bool) []message {
	j.mu.Lock()
	defer j.mu.Unlock()
	got := j.messages
	if !keep {
		j.messages = nil
	}
	return got
}

func (j *job) await(s *session.State, late <-chan time.Time) error { return s.Await(j.done, late) }

func (j *job) stop() error {
	j.mu.Lock()
	j.stopped = true
	j.mu.Unlock()
	if err := j.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-j.done
	return nil
}

// startJob runs a script block, or what a file has, in a process of its own
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/start-job).
func startJob(c *cmdlet.Call) error {
	b, ok := c.Values["scriptblock"].(*object.ScriptBlock)
	if path := c.Text("filepath"); path != "" {
		text, err := os.ReadFile(c.State.Path(path))
		if err != nil {
			return c.Fail(&object.Exception{
				Class: object.NotFoundException, Category: object.ObjectNotFound, ID: "PathNotFound", Target: path,
				Message: "Cannot find path '" + path + "' because it does not exist.",
			})
		}
		b, ok = &object.ScriptBlock{Words: strings.TrimPrefix(string(text), "\uFEFF")}, true
	}
	if !ok {
		return object.Thrown("Start-Job : a script block is missing.")
	}

	all := session.Keep[jobList](c.State)
	j := &job{
		id: all.next(), name: c.Text("name"), command: b.Words, begun: time.Now(), done: make(chan struct{}),
	}
	if j.name == "" {
		j.name = fmt.Sprintf("Job%d", j.id)
	}
	if err := j.run(c.State, jobText(c, b)); err != nil {
		return c.Fail(err)
	}

	all.list = append(all.list, numbered{member: j, id: j.id})
	return c.Out.Put(j.object())
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

// next returns the number of a new job; PowerShell counts a job and its child.
func (j *jobList) next() int {
	j.count++
	return 2*j.count - 1
}

// encode returns a script as -EncodedCommand takes it: base64 of UTF-16, the low byte first.
func encode(text string) string {
	var data []byte
	for _, u := range utf16.Encode([]rune(text)) {
		data = append(data, byte(u), byte(u>>8))
	}
	return base64.StdEncoding.EncodeToString(data)
}
