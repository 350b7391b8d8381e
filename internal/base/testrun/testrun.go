// Package testrun is what a test and the program that runs the rungs of the tests (hack/rung) say to each other: which
// test is not run a second time after it has failed, and by which seed one is random. Only tests use it.
package testrun

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Why a test is not run a second time. A second try tells a test that fails by chance, as on a machine that is busy,
// from one that fails; it does not suit a test of what must never happen.
const (
	Attack   = "an attack that succeeds once succeeds"
	Race     = "a race that is lost once is there"
	Loss     = "what is lost once is lost"
	Leftover = "what is left behind once is left behind"
	Order    = "what comes in a wrong order once has no order"
	Follows  = "it holds after what ran before it, which does not run again"
)

const (
	// OnceMark begins what Once logs.
	OnceMark = "no second try: "
	// SeedMark begins what Seed logs.
	SeedMark = "random seed: "
	// SeedVariable is the variable of the environment that has the seed of a random test, as a decimal number.
	SeedVariable = "MULLION_TEST_SEED"
)

// Once says that a test, and each part of it, is not run a second time, and why. It is a test's first call.
func Once(tb testing.TB, why string) {
	tb.Helper()
	tb.Log(OnceMark + why)
}

// Seed returns a seed for a test that is random, and logs it: that of the environment, so that a second try repeats the
// first one, else a new one.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	seed := rand.Uint64()                            //nolint:gosec // no secret: a test logs it
	if text := os.Getenv(SeedVariable); text != "" { //nolint:forbidigo // a test, which has no cli.Env
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			tb.Fatalf("%s: %v", SeedVariable, err)
		}
		seed = given
	}

	tb.Logf("%s%d", SeedMark, seed)
	return seed
}
