package compute

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"time"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/hcs"
)

// Service answers the functions of the Host Compute Service: for the containers of pods, and for the compute systems
// that programs of the host make.
type Service struct {
	// Pods knows the containers of pods.
	Pods Source
	// Systems are those of programs of the host; nil: they can make none.
	Systems *hcs.Service
}

// Call answers a request.
func (s Service) Call(ctx context.Context, r hns.Request) (server.Computed, error) {
	function, text := r.Function, r.Text
	if s.Systems == nil {
		return replied(Call(ctx, s.Pods, function, text))
	}

	switch {
	case function == Enumerate && len(text) == 1:
		answer, err := s.enumerate(ctx, text)
		return replied(hns.Reply{Text: answer}, err)
	case function == Properties && len(text) == 2 && s.Systems.Has(text[0]):
		answer, err := s.show(ctx, text[0], text[1])
		return replied(hns.Reply{Text: answer}, err)
	case function == Properties, function == QueryJob:
		return replied(Call(ctx, s.Pods, function, text))
	}

	answer, err := s.Systems.Call(hcs.WithRequest(ctx, r.Name), function, text)
	if err != nil {
		return server.Computed{}, refusal(err)
	}
	return computed(answer), nil
}

// replied returns a reply or an error as the connection carries it.
func replied(reply hns.Reply, err error) (server.Computed, error) {
	if err != nil {
		return server.Computed{}, refusal(err)
	}
	return server.Computed{Reply: reply}, nil
}

// refused is an error with its record, the document ResultError
// (https://learn.microsoft.com/virtualization/api/hcs/schemareference#ResultError).
type refused struct{ error }

// Unwrap returns the error with its result.
func (r refused) Unwrap() error { return r.error }

// Record implements what package server asks an error for.
func (r refused) Record() string {
	code := wire.EFail
	if e, ok := errors.AsType[*wire.Error](r.error); ok {
		code = e.Code
	}
	text, err := encode(struct {
		Error        int32
		ErrorMessage string
	}{int32(code), r.Error()})
	if err != nil { // of plain values there is none
		return ""
	}
	return text
}

// refusal is an error of the service as the connection carries it.
func refusal(err error) error {
	if e, ok := errors.AsType[*hcs.Error](err); ok {
		err = wire.Errorf(wire.HRESULT(e.Code), "%s", e.Text)
	}
	return refused{err}
}

// enumerate lists compute systems, those of pods first.
func (s Service) enumerate(ctx context.Context, text []string) (string, error) {
	ofPods, err := enumerate(s.Pods, text[0])
	if err != nil {
		return "", err
	}
	others, err := s.Systems.Call(ctx, Enumerate, text)
	if err != nil {
		return "", err
	}

	var all, more []json.RawMessage
	err = errors.Join(json.Unmarshal([]byte(ofPods), &all), json.Unmarshal([]byte(others.Text), &more))
	if err != nil {
		return "", err
	}

	return encode(append(all, more...))
}

// show shows a compute system that a program has made.
func (s Service) show(ctx context.Context, id, document string) (string, error) {
	var q propertyQuery
	if err := parse(document, &q); err != nil {
		return "", err
	}
	seen, err := s.Systems.Look(id)
	if err != nil {
		return "", err
	}

	p := propertiesOf(cri.ComputeSystem{ID: id})
	p.State, p.Owner = string(seen.State), seen.Owner
	for _, name := range q.PropertyTypes {
		switch name {
		case "Statistics":
			usage, err := s.Systems.Usage(ctx, id)
			if err != nil {
				return "", wire.Errorf(NotFound, "%v", err) // it has ended meanwhile
			}
			p.Statistics = statisticsOf(cri.ComputeSystem{ID: id, Started: seen.StartedAt}, usage)

		case "ProcessList":
			list, err := s.Systems.Processes(ctx, id)
			if err != nil {
				return "", err
			}
			p.ProcessList = processesOf(list)
		default:
			return "", wire.Errorf(wire.ENotImpl, "property %q", name)
		}
	}

	return encode(p)
}

// processesOf returns the list of processes of a compute system.
func processesOf(list []cri.Process) []processItem {
	const tick = 100 * time.Nanosecond
	all := []processItem{}
	for _, p := range list {
		all = append(all, processItem{
			CreateTimestamp:              p.Created,
			ImageName:                    p.Image,
			KernelTime100ns:              uint64(p.Kernel / tick),
			UserTime100ns:                uint64(p.User / tick),
			MemoryCommitBytes:            p.Committed,
			MemoryWorkingSetPrivateBytes: min(p.WorkingSet, p.Committed),
			MemoryWorkingSetSharedBytes:  p.WorkingSet - min(p.WorkingSet, p.Committed),
			ProcessID:                    p.PID,
		})
	}

	return all
}

// computed returns an answer as the connection carries it.
func computed(a hcs.Answer) server.Computed {
	c := server.Computed{Reply: hns.Reply{Text: a.Text, Object: a.GUID}, Then: a.Stream}
	if a.Process != nil {
		c.Raw = binary.LittleEndian.AppendUint32(nil, a.Process.PID)
		c.Raw = binary.LittleEndian.AppendUint32(c.Raw, a.Process.Streams)
	}
	if a.Events != nil {
		c.Then = func(ctx context.Context, conn net.Conn, answer []byte) {
			defer a.Events.Leave()
			if _, err := conn.Write(answer); err == nil {
				tell(ctx, conn, a.Events.Events)
			}
		}
	}
	return c
}

// eventTimeout is how long a program may take an event.
const eventTimeout = 30 * time.Second

// tell writes events until the program closes its end: that is its handle. One that does not read loses it.
func tell(ctx context.Context, conn net.Conn, events <-chan hcs.Event) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // the program sends nothing more
		defer cancel()
		_, _ = conn.Read(make([]byte, 1))
	}()

	for {
		select {
		case e, more := <-events:
			if !more {
				events = nil
				continue
			}
			if ctx.Err() != nil {
				return
			}
			_ = conn.SetWriteDeadline(time.Now().Add(eventTimeout))
			if _, err := conn.Write(server.EventFrame(uint32(e.Type), e.Text)); err != nil {
				return
			}

		case <-ctx.Done():
			return
		}
	}
}
