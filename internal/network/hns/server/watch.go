package server

import (
	"context"
	"encoding/binary"
	"net"
	"time"

	"mullion.dev/mullion/internal/network/hns"
)

// maxWaiting is how many events may wait for a program that does not take them; with more it is disconnected.
const maxWaiting = 4096

// watcher is a program that gets events; its channel is closed after the last one.
type watcher struct {
	of     string // as hns.Event.Of
	events chan hns.Event
}

// watch begins to collect events for a program: those of an object or, if the kind is empty, those of the service.
func (s *Service) watch(k hns.Kind, object string) (*watcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{events: make(chan hns.Event, maxWaiting)}
	if k != "" {
		var err error
		if w.of, err = s.model.Find(k, object); err != nil {
			return nil, err
		}
	}
	s.watchers[w] = true
	return w, nil
}

// forget ends a watch, if it is one.
func (s *Service) forget(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers[w] {
		delete(s.watchers, w)
		close(w.events)
	}
}

// tell hands events to those who watch, and waits for nobody. It requires s.mu.
func (s *Service) tell(events []hns.Event) {
	for _, e := range events {
		for w := range s.watchers {
			if w.of != e.Of {
				continue
			}

			select {
			case w.events <- e:
			default:
				s.cfg.Log.Warn("HNS client does not take its events and is disconnected", "waiting", len(w.events))
				delete(s.watchers, w)
				close(w.events)
			}
		}
	}
}

// disconnectWatchers ends every watch, as a service that restarts does. It requires s.mu.
func (s *Service) disconnectWatchers() {
	for w := range s.watchers {
		delete(s.watchers, w)
		close(w.events)
	}
}

// report writes events until the program or the watch ends.
func (s *Service) report(ctx context.Context, c net.Conn, w *watcher) {
	defer s.forget(w)
	_ = c.SetDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a watching program sends nothing more: Read returns when it leaves or converse closes the connection
		defer cancel()
		_, _ = c.Read(make([]byte, 1))
	}()

	for {
		select {
		case e, more := <-w.events:
			if !more {
				return
			}
			_ = c.SetWriteDeadline(time.Now().Add(frameTimeout))
			if _, err := c.Write(eventFrame(e)); err != nil {
				return
			}

		case <-ctx.Done():
			return
		}
	}
}

// EventFrame returns an event of the Host Compute Service as its libraries read it.
func EventFrame(number uint32, text string) []byte {
	return makeFrame(binary.LittleEndian.AppendUint32(nil, number), encodeGUID(""), encodeText(text), nil)
}

func eventFrame(e hns.Event) []byte {
	return makeFrame(binary.LittleEndian.AppendUint32(nil, uint32(e.Type)), encodeGUID(e.Object), encodeText(e.Text),
		nil)
}
