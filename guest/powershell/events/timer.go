package events

import (
	"sync"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// source is what calls its listeners when something happens.
type source struct {
	mu        sync.Mutex
	listeners map[int]func(args object.Value)
	last      int
}

// listen adds a listener, and returns how it is taken away.
func (s *source) listen(to func(args object.Value)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners == nil {
		s.listeners = map[int]func(args object.Value){}
	}
	s.last++
	n := s.last
	s.listeners[n] = to
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, n)
	}
}

func (s *source) tell(args object.Value) {
	s.mu.Lock()
	var all []func(args object.Value)
	for _, one := range s.listeners {
		all = append(all, one)
	}
	s.mu.Unlock()
	for _, one := range all {
		one(args)
	}
}

// timer is a System.Timers.Timer.
type timer struct {
	elapsed  source
	mu       sync.Mutex
	interval time.Duration
	once     bool // AutoReset is false
	stop     chan struct{}
}

// start begins to count; ticks come until it is stopped, or one if it is to tick once.
func (t *timer) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		return
	}
	stop := make(chan struct{})
	t.stop = stop
	go func() {
		for {
			t.mu.Lock()
			clock := time.NewTimer(t.interval)
			t.mu.Unlock()
			select {
			case <-stop:
				clock.Stop()
				return
			case at := <-clock.C:
				t.mu.Lock()
				once := t.once
				if once && t.stop == stop {
					t.stop = nil
				}
				t.mu.Unlock()

				t.elapsed.tell(object.New("elapsed").Set("SignalTime", object.DateTime{At: at}))
				if once {
					return
				}
			}
		}
	}()
}

func (t *timer) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		close(t.stop)
		t.stop = nil
	}
}

func (t *timer) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop != nil
}

// setInterval sets the time between two ticks, in milliseconds. .NET takes 1 to 2147483647.
func (t *timer) setInterval(v object.Value) error {
	millis, err := object.Floating(v)
	if err != nil {
		return err
	}
	if millis <= 0 || millis > 1<<31-1 {
		return object.Raise("System.ArgumentException", "'"+object.Text(v)+"' is not a valid value for 'Interval'. 'Interval' "+
			"must be greater than 0.")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.interval = time.Duration(millis * float64(time.Millisecond))
	return nil
}

// TimerClass returns the class System.Timers.Timer (https://learn.microsoft.com/en-us/dotnet/api/system.timers.timer).
func TimerClass() *object.Class {
	own := func(v object.Value) *timer { return object.Own[*timer](v) }
	do := func(name string, do func(t *timer)) object.Method {
		return object.Method{Name: name, Do: func(c *object.Call) (object.Value, error) {
			do(own(c.On))
			return nil, nil
		}}
	}
	set := func(t *timer, on bool) {
		if on {
			t.start()
		} else {
			t.end()
		}
	}

	return &object.Class{
		Name: "System.Timers.Timer",
		Make: &object.Method{Most: 1, Do: func(c *object.Call) (object.Value, error) {
			t := &timer{interval: 100 * time.Millisecond} // .NET's
			if len(c.Args) > 0 {
				if err := t.setInterval(c.Arg(0)); err != nil {
					return nil, err
				}
			}
			c.State.Closers = append(c.State.Closers, t.end)
			return &object.Instance{Of: TimerClass(), V: t}, nil
		}},
		Props: []object.Field{
			{
				Name: "Interval",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					t := own(v)
					t.mu.Lock()
					defer t.mu.Unlock()
					return float64(t.interval) / float64(time.Millisecond), nil
				},
				Set: func(of, v object.Value) error { return own(of).setInterval(v) },
			},
			{
				Name: "AutoReset",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					t := own(v)
					t.mu.Lock()
					defer t.mu.Unlock()
					return !t.once, nil
				},
				Set: func(of, v object.Value) error {
					t := own(of)
					t.mu.Lock()
					defer t.mu.Unlock()
					t.once = !object.Truth(v)
					return nil
				},
			},
			{
				Name: "Enabled",
				Get:  func(_ *session.State, v object.Value) (object.Value, error) { return own(v).running(), nil },
				Set: func(of, v object.Value) error {
					set(own(of), object.Truth(v))
					return nil
				},
			},
		},
		Methods: []object.Method{
			do("Start", (*timer).start), do("Stop", (*timer).end), do("Close", (*timer).end), do("Dispose", (*timer).end),
		},
		Events: []object.Event{{Name: "Elapsed", Listen: func(of object.Value, to func(args object.Value)) func() {
			return own(of).elapsed.listen(to)
		}}},
	}
}
