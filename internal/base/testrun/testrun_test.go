package testrun

import (
	"fmt"
	"testing"
)

// logged is a test that keeps what is logged, and whether it was failed.
type logged struct {
	testing.TB
	lines  []string
	failed bool
}

func (l *logged) Helper() {}

func (l *logged) Log(args ...any) { l.lines = append(l.lines, fmt.Sprint(args...)) }

func (l *logged) Logf(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *logged) Fatalf(string, ...any) { l.failed = true }

func TestOnce(t *testing.T) {
	var l logged
	if Once(&l, Race); len(l.lines) != 1 || l.lines[0] != "no second try: a race that is lost once is there" {
		t.Errorf("logged %q", l.lines)
	}
}

func TestSeed(t *testing.T) {
	var l logged
	t.Setenv(SeedVariable, "18446744073709551615")
	if got := Seed(&l); got != 1<<64-1 || l.lines[0] != "random seed: 18446744073709551615" || l.failed {
		t.Errorf("the seed is %d, logged %q", got, l.lines)
	}

	t.Setenv(SeedVariable, "-1")
	if Seed(&l); !l.failed {
		t.Error("-1 is no seed")
	}

	t.Setenv(SeedVariable, "")
	if a, b := Seed(&l), Seed(&l); a == b {
		t.Errorf("two seeds are %d", a)
	}
}
