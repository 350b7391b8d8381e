package engine

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/containerd/v2/pkg/cio"
)

// copied are streams of which a goroutine copies; Cancel ends it.
type copied struct {
	cio.IO

	done, cancelled chan struct{}
}

func (c copied) Wait()   { <-c.done }
func (c copied) Cancel() { close(c.cancelled) }

// minutely is a reader that takes one write a minute.
type minutely struct{ taken int }

func (m *minutely) Write(p []byte) (int, error) {
	time.Sleep(time.Minute)
	m.taken += len(p)
	return len(p), nil
}

// TestDrain: who reads slowly gets all of an ended program's output, and children that hold the streams open, without
// saying anything, are not waited for.
func TestDrain(t *testing.T) {
	for name, held := range map[string]bool{"a slow reader": false, "a slow reader, and children": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const writes = 5
				var reader minutely
				x := ExecSpec{Stdout: &reader}.metered()
				if x.Stderr != nil {
					t.Error("an output that nobody asked for has become one")
				}

				stdio := copied{done: make(chan struct{}), cancelled: make(chan struct{})}
				go func() {
					defer close(stdio.done)
					for range writes {
						if _, err := io.WriteString(x.Stdout, "x"); err != nil {
							t.Error(err)
						}
					}
					if held {
						<-stdio.cancelled
					}
				}()

				synctest.Wait()
				begun := time.Now()
				drain(t.Context(), stdio, x.taken)
				if took := time.Since(begun); reader.taken != writes || took > writes*time.Minute+drainTimeout {
					t.Errorf("%d of %d writes were taken after %v", reader.taken, writes, took)
				}
			})
		})
	}
}
