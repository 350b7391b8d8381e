package library

import (
	"time"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// watch is a System.Diagnostics.Stopwatch.
type watch struct {
	since   time.Time // zero if it stands
	elapsed time.Duration
}

func (w *watch) total() time.Duration {
	if w.since.IsZero() {
		return w.elapsed
	}
	return w.elapsed + time.Since(w.since)
}

// StopwatchClass returns the class System.Diagnostics.Stopwatch.
func StopwatchClass() *object.Class {
	made := func(w *watch) object.Value { return &object.Instance{Of: StopwatchClass(), V: w} }
	do := func(name string, do func(w *watch)) object.Method {
		return object.Method{
			Name: name,
			Do: func(c *object.Call) (object.Value, error) {
				do(object.Own[*watch](c.On))
				return nil, nil
			},
		}
	}

	start := func(w *watch) {
		if w.since.IsZero() {
			w.since = time.Now()
		}
	}

	of := func(name string, get func(w *watch) object.Value) object.Field {
		return object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return get(object.Own[*watch](v)), nil
			},
		}
	}

	return &object.Class{
		Name: "System.Diagnostics.Stopwatch",
		Make: &object.Method{Do: func(*object.Call) (object.Value, error) { return made(&watch{}), nil }},
		Calls: []object.Method{{
			Name: "StartNew",
			Do: func(*object.Call) (object.Value, error) {
				return made(&watch{since: time.Now()}), nil
			},
		}},
		Props: []object.Field{
			of("Elapsed", func(w *watch) object.Value { return &object.Instance{Of: object.SpanClass(), V: w.total()} }),
			of("ElapsedMilliseconds", func(w *watch) object.Value { return w.total().Milliseconds() }),
			of("IsRunning", func(w *watch) object.Value { return !w.since.IsZero() }),
		},
		Methods: []object.Method{
			do("Start", start),
			do("Stop", func(w *watch) { w.elapsed, w.since = w.total(), time.Time{} }),
			do("Reset", func(w *watch) { w.elapsed, w.since = 0, time.Time{} }),
			do("Restart", func(w *watch) { w.elapsed, w.since = 0, time.Now() }),
		},
	}
}
