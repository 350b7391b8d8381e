package text

import (
	"testing"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

type result = programtest.Result

// run runs a program by its name, which is the first argument.
func run(t *testing.T, input string, args ...string) result {
	t.Helper()
	programs := map[string]func(program.Env, []string) int{
		"fc":   FC,
		"find": Find,
		"more": func(e program.Env, args []string) int { return More(e, ThisScreen(), args) },
		"sort": Sort,
	}
	return programtest.Run(input, func(e program.Env) int { return programs[args[0]](e, args[1:]) })
}
