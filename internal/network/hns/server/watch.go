package server

import (
	"context"
	"encoding/binary"
	"net"
	"time"

	"mullion.dev/mullion/internal/network/hns"
)

// maxWaiting is how many events wait for a program that does not take them; then it is disconnected.
const maxWaiting = 4096

// watcher is a program that is told of events; its channel is closed when there will be no more.
type watcher struct {
	of     string // as hns.Event.Of
	events chan hns.Event
}

// watch begins to keep events for a program: of an object, or of the service where the kind is empty.
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

// tell hands events to who watches; mu is held. Nobody is waited for.
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

// disconnectWatchers ends every watch, as a service that restarts does; mu is held.
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
	go func() { // a watching program says nothing more: this returns when it leaves, or converse closes the connection
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

func eventFrame(e hns.Event) []byte {
	return makeFrame(binary.LittleEndian.AppendUint32(nil, uint32(e.Type)), encodeGUID(e.Object), encodeText(e.Text),
		nil)
}
