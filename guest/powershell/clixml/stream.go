package clixml

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"mullion.dev/mullion/guest/powershell/object"
)

// Stream is one of the streams of a program that sends its output as objects.
type Stream string

// The streams, and how the program's script has ended: completed, or failed with an error.
const (
	Output      Stream = "output"
	Errors      Stream = "error"
	Warning     Stream = "warning"
	Verbose     Stream = "verbose"
	Debug       Stream = "debug"
	Information Stream = "information"
	Completed   Stream = "completed"
	Failed      Stream = "failed"
)

// sentDepth is how deep an object is sent: its properties, whose own are texts.
const sentDepth = 1

// mark begins a line that is a message. What a program beside the script prints does not begin so.
const mark = "\x02"

// Sender sends objects, each in a line. A line is the mark, the stream, and a document with the object.
type Sender struct {
	mu    sync.Mutex
	W     io.Writer
	Seals Sealer
}

// Send sends one object. What cannot be written any more is nobody's.
func (s *Sender) Send(to Stream, v object.Value) error {
	text, err := Write([]object.Value{v}, sentDepth, "", s.Seals)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = fmt.Fprintf(s.W, "%s%s %s\n", mark, to, text)
	return err
}

// Received reads a line of Sender's. A line that is none is a text of the output.
func Received(line string, seals Sealer) (from Stream, v object.Value, err error) {
	rest, sent := strings.CutPrefix(line, mark)
	if !sent {
		return Output, strings.TrimRight(line, "\r\n"), nil
	}
	name, text, _ := strings.Cut(rest, " ")
	all, err := Read(text, seals)
	if err != nil || len(all) != 1 {
		return Errors, nil, fmt.Errorf("read an object of a job: %w", err)
	}
	return Stream(name), all[0], nil
}

// Record returns an error as an object that can be sent.
func Record(r *object.ErrorRecord) object.Value {
	of := &object.Instance{Of: object.RecordClass(), V: r}
	info, _ := object.Property(of, "categoryinfo") // it has one
	text := func(v object.Value, name string) string {
		got, err := object.Property(v, name)
		if err != nil {
			return ""
		}
		return object.Text(got)
	}

	o := object.New(object.Custom)
	for i, v := range []string{
		r.Message, r.Class, text(of, "fullyqualifiederrorid"), text(info, "category"), text(info, "activity"), text(info, "targetname"),
	} {
		o.Set(recordNames()[i], v)
	}
	return o
}

// recordNames are the properties of an error that is sent.
func recordNames() []string {
	return []string{"Message", "Class", "ID", "Category", "Activity", "Target"}
}

// RecordOf returns the error that was sent.
func RecordOf(v object.Value) *object.ErrorRecord {
	info := map[string]string{}
	for _, name := range recordNames() {
		got, err := object.Property(v, strings.ToLower(name))
		if err == nil {
			info[name] = object.Text(got)
		}
	}
	r := &object.ErrorRecord{
		Message: info["Message"], Class: info["Class"], ID: info["ID"], Category: info["Category"], Activity: info["Activity"],
	}
	if info["Target"] != "" {
		r.Target = info["Target"]
	}
	return r
}
