package console

import (
	"errors"
	"testing"
	"time"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// fake is a Windows with a console, if it has keys.
type fake struct {
	keys []rune // nil: there is no console
}

func (w *fake) Key(wait time.Duration) (rune, error) {
	switch {
	case w.keys == nil:
		return 0, ErrNoConsole
	case len(w.keys) == 0 || wait == 0:
		return 0, nil
	}
	key := w.keys[0]
	w.keys = w.keys[1:]
	return key, nil
}

// CodePage and SetCodePage are those of a console with code page 850, which knows 65001 too.
func (w *fake) CodePage() (uint32, error) {
	if w.keys == nil {
		return 0, ErrNoConsole
	}
	return 850, nil
}

func (w *fake) SetCodePage(page uint32) error {
	if page != 850 && page != 65001 {
		return errors.New("no such code page")
	}
	_, err := w.CodePage()
	return err
}

type result = programtest.Result

// run runs a program by its name, which is the first argument.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	programs := map[string]func(program.Env, System, []string) int{
		"chcp":    Chcp,
		"choice":  Choice,
		"timeout": Timeout,
	}
	return programtest.Run(input, func(e program.Env) int { return programs[args[0]](e, w, args[1:]) })
}
