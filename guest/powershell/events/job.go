package events

import (
	"mullion.dev/mullion/guest/powershell/object"
)

// Job is the job that an action is: it has what the action outputs, until somebody receives it. It is used by the
// script's own goroutine only.
type Job struct {
	ID     int
	Name   string
	Action *object.ScriptBlock
	output []object.Value
	state  string
}

// NewJob makes the job of a subscriber with an action, with a number.
func NewJob(one *Subscriber, id int) *Job {
	one.job = &Job{
		ID:     id,
		Name:   one.Identifier,
		Action: one.Action,
		state:  "NotStarted",
	}
	return one.job
}

// State returns NotStarted before the first event, then Running, also if an action fails; and Stopped at its end.
func (j *Job) State() string { return j.state }

// mostOutput bounds what a job keeps: the oldest goes first.
const mostOutput = 100_000

// keep adds what an action has output.
func (j *Job) keep(output []object.Value) {
	if j.state == "NotStarted" {
		j.state = "Running"
	}
	j.output = append(j.output, output...)
	if over := len(j.output) - mostOutput; over > 0 {
		j.output = append([]object.Value(nil), j.output[over:]...)
	}
}

func (j *Job) end() { j.state = "Stopped" }

// Received adds to a subscriber's job what its action has output.
func (s *Subscriber) Received(output []object.Value) {
	if s.job != nil {
		s.job.keep(output)
	}
}

// Job returns the subscriber's job, nil without an action.
func (s *Subscriber) Job() *Job { return s.job }

// Take returns what the actions have output, and forgets it unless it is kept.
func (j *Job) Take(keep bool) []object.Value {
	output := j.output
	if !keep {
		j.output = nil
	}
	return output
}
