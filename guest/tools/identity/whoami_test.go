package identity

import (
	"errors"
	"testing"

	"mullion.dev/mullion/guest/tools/program/programtest"
)

func TestGoldens(t *testing.T) {
	programtest.Goldens(t, *update, func(t *testing.T, input string, args ...string) result {
		t.Helper()
		return run(t, &fake{}, input, args...)
	}, "whoami.txtar")
}

func TestNobody(t *testing.T) {
	if got := run(t, &fake{err: errors.New("no answer")}, "", "whoami"); got.Code != 1 || got.Err == "" {
		t.Errorf("%+v", got)
	}
}
