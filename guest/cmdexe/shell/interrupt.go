package shell

import (
	"context"
	"errors"
	"strings"
	"time"
)

// ErrInterrupted is the error of a Host that waited for a key, which was Ctrl+C.
var ErrInterrupted = errors.New("Ctrl+C was pressed")

// interrupted reports whether Ctrl+C was pressed, or a program ended as one does that it ends. Each Ctrl+C is told
// once.
func (s *Shell) interrupted(ctx context.Context) bool {
	pressed := s.pressed
	s.pressed = false
	return ctx.Err() != nil || s.told() || pressed
}

// told reports whether Windows has told of a Ctrl+C since it was asked last.
func (s *Shell) told() bool { return s.o.Interrupts != nil && s.o.Interrupts() }

// awaitTold waits until Windows has told of the Ctrl+C that a program has ended by. It tells each program of a console
// by a thread of its own, and this one may be told when the prompt is there again, and would give up what is typed.
func (s *Shell) awaitTold() {
	const patience, step = 500 * time.Millisecond, 5 * time.Millisecond
	for waited := time.Duration(0); s.o.Interrupts != nil && !s.told() && waited < patience; waited += step {
		time.Sleep(step)
	}
}

// interrupt returns what a Ctrl+C does: it ends all commands. In a batch file it asks first, and a person who says no
// goes on with the next command.
func (s *Shell) interrupt(ctx context.Context) (int32, flow) {
	if ctx.Err() == nil && s.frame != nil && !s.frame.side && !s.terminates() {
		return s.code, next
	}
	s.code = interruptedCode
	return interruptedCode, abort
}

// interruptedBy reports whether Ctrl+C ended the commands of a side, which went on as how says.
func (s *Shell) interruptedBy(how flow) bool {
	return s.pressed || (how == abort && s.code == interruptedCode)
}

// terminates asks whether the batch file is to end, until there is an answer or no more input: where standard input is
// no console, what stands there answers, and NUL says yes.
func (s *Shell) terminates() bool {
	defer s.told() // of the same Ctrl+C, as it may come after the end of the program, and of another

	for {
		s.print("^CTerminate batch job (Y/N)? ")
		line, ok := s.readLine()
		if !ok {
			s.print("\r\n")
			return true
		}
		if s.files[0] != nil && !s.o.System.Terminal(s.files[0]) {
			s.print("%s\r\n", line)
		}

		switch strings.ToUpper(strings.TrimLeft(line, " \t") + " ")[0] {
		case 'Y':
			return true
		case 'N':
			return false
		}
	}
}

// awaitInterrupt notes a Ctrl+C that ended the reading of a line at the console. The word of it may come a little after
// a read that gave nothing.
func (s *Shell) awaitInterrupt(line string, ok bool) {
	if line == "" && s.stopped(ok) {
		s.pressed = true
	}
}

// stopped reports whether Ctrl+C ended the reading of a line. The word of it may come a little after a read that gave
// nothing.
func (s *Shell) stopped(ok bool) bool {
	const tries, pause = 20, 10 * time.Millisecond
	if s.o.Interrupts == nil {
		return false
	}

	for range tries {
		if s.o.Interrupts() {
			return true
		}
		if ok || s.files[0] == nil || !s.o.System.Terminal(s.files[0]) {
			return false
		}
		<-time.After(pause)
	}

	return false
}
