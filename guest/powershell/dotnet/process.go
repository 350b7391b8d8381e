package dotnet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// Started is a program that Start-Process has started. It goes on when the session ends.
type Started struct {
	Cmd  *exec.Cmd
	Name string
	Done chan struct{} // closed when it has ended
	// raises says that its end is an event: EnableRaisingEvents.
	raises atomic.Bool
}

// exited tells of a program's end, if a script has set EnableRaisingEvents.
func exited(of object.Value, to func(args object.Value)) (stop func()) {
	s, ended := object.Own[*Started](of), make(chan struct{})
	go func() {
		select {
		case <-s.Done:
			if s.raises.Load() {
				to(object.New(object.Custom))
			}
		case <-ended:
		}
	}()
	return sync.OnceFunc(func() { close(ended) })
}

func (s *Started) ended() bool {
	select {
	case <-s.Done:
		return true
	default:
		return false
	}
}

// ProcessClass returns the class System.Diagnostics.Process, of programs that the session has started.
func ProcessClass() *object.Class {
	of := func(name string, get func(s *Started) object.Value) object.Field {
		return object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return get(object.Own[*Started](v)), nil
			},
		}
	}

	return &object.Class{
		Name: "System.Diagnostics.Process",
		Same: func(v any) string { return fmt.Sprint(v.(*Started).Cmd.Process.Pid) },
		Props: []object.Field{
			of("Id", func(s *Started) object.Value { return int64(s.Cmd.Process.Pid) }),
			of("ProcessName", func(s *Started) object.Value { return s.Name }),
			of("Name", func(s *Started) object.Value { return s.Name }),
			{
				Name: "EnableRaisingEvents",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return object.Own[*Started](v).raises.Load(), nil
				},
				Set: func(v, on object.Value) error {
					object.Own[*Started](v).raises.Store(object.Truth(on))
					return nil
				},
			},
			of("HasExited", func(s *Started) object.Value { return s.ended() }),
			of("ExitCode", func(s *Started) object.Value {
				if !s.ended() {
					return nil
				}
				return int64(int32(s.Cmd.ProcessState.ExitCode())) // Windows' codes have 32 bits
			}),
		},
		Events: []object.Event{{Name: "Exited", Listen: exited}},
		Methods: []object.Method{
			{
				Name: "WaitForExit",
				Most: 1,
				Do: func(c *object.Call) (object.Value, error) {
					s := object.Own[*Started](c.On)
					var late <-chan time.Time
					if len(c.Args) > 0 {
						millis, err := c.Whole(0)
						if err != nil {
							return nil, err
						}
						if millis >= 0 {
							late = time.After(time.Duration(millis) * time.Millisecond)
						}
					}

					if err := c.State.Await(s.Done, late); err != nil {
						return nil, err
					}

					if len(c.Args) == 0 {
						return nil, nil
					}

					return s.ended(), nil
				},
			},
			{
				Name: "Kill",
				Do: func(c *object.Call) (object.Value, error) {
					err := object.Own[*Started](c.On).Cmd.Process.Kill()
					if errors.Is(err, os.ErrProcessDone) {
						return nil, object.Raise("System.InvalidOperationException",
							"Cannot process request because the process has exited.")
					}
					return nil, err
				},
			},
			{Name: "Refresh", Do: func(*object.Call) (object.Value, error) { return nil, nil }}, // nothing is kept
		},
	}
}
