package host

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/cmdexe/shell"
	"mullion.dev/mullion/guest/lineedit"
)

// key waits for a key of the console that has a character.
func (h Host) key(in *os.File) error {
	if in == nil {
		return errors.ErrUnsupported
	}
	console, err := lineedit.OpenInput(windows.Handle(in.Fd()))
	if err != nil {
		return err
	}

	restore, err := console.Raw()
	if err != nil {
		return err
	}
	return errors.Join(h.await(console), restore())
}

func (h Host) await(console *lineedit.Input) error {
	for {
		key, err := console.Await(h.Interrupts)
		switch {
		case err != nil:
			return err
		case key.Interrupts():
			return shell.ErrInterrupted
		case key.Rune != 0:
			return nil
		}
	}
}
