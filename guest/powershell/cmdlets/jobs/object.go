package jobs

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"mullion.dev/mullion/guest/powershell/clixml"
	"mullion.dev/mullion/guest/powershell/object"
)

// property is one whose value is looked up when it is asked for.
func property(get func() object.Value) *object.Computed {
	return &object.Computed{Kind: "Property", Get: func(object.Value) (object.Value, error) { return get(), nil }}
}

// object returns the job as its cmdlets output it, always the same one
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.psremotingjob). Its state is the job's.
func (j *job) object() *object.Object {
	if j.shown == nil {
		j.shown = j.describe(j.id, j.name)
		child := j.describe(j.id+1, fmt.Sprintf("Job%d", j.id+1))
		child.Props["childjobs"] = []object.Value{}
		for name, from := range map[string]clixml.Stream{
			"output": clixml.Output, "error": clixml.Errors, "warning": clixml.Warning, "verbose": clixml.Verbose, "debug": clixml.Debug,
			"information": clixml.Information,
		} {
			child.Props[name] = property(func() object.Value { return j.ofStream(from) })
		}
		j.shown.Props["childjobs"] = []object.Value{child}
	}
	return j.shown
}

// describe returns the properties that a job and its child have, with their own numbers and names.
func (j *job) describe(id int, name string) *object.Object {
	o := object.New("job")
	at := func(get func() time.Time) *object.Computed {
		return property(func() object.Value {
			if t := get(); !t.IsZero() {
				return object.DateTime{At: t}
			}
			return nil
		})
	}

	o.Set("Id", int64(id)).Set("Name", name).Set("ChildJobs", nil).Set("PSJobTypeName", "BackgroundJob")
	o.Set("PSBeginTime", at(func() time.Time { return j.begun })).Set("PSEndTime", at(func() time.Time {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.ended
	}))
	o.Set("State", property(func() object.Value { return j.state() })).Set("HasMoreData", property(func() object.Value {
		over := j.over()
		j.mu.Lock()
		defer j.mu.Unlock()
		return !over || len(j.messages) > 0 // one that runs may send more
	}))
	o.Set("Location", "localhost").Set("StatusMessage", "").Set("Command", j.command)
	o.Props["instanceid"] = newIdentifier()
	o.Props["jobstateinfo"] = property(func() object.Value {
		info := object.New(object.Custom).Set("State", j.state()).Set("Reason", nil)
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.reason != nil {
			info.Props["reason"] = object.New(object.Custom).Set("Message", j.reason.Message)
		}
		info.Shown = func(o *object.Object) string { return object.Text(o.Props["state"]) }
		return info
	})
	return o
}

// ofStream returns what a stream has that nobody has received.
func (j *job) ofStream(from clixml.Stream) object.Value {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := []object.Value{}
	for _, m := range j.messages {
		switch {
		case m.from != from:
		case from == clixml.Errors:
			list = append(list, &object.Instance{Of: object.RecordClass(), V: clixml.RecordOf(m.v)})
		default:
			list = append(list, m.v)
		}
	}
	return list
}

// newIdentifier makes a GUID.
func newIdentifier() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	h := hex.EncodeToString(b[:])
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}
