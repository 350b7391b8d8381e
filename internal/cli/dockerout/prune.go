package dockerout

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/docker/go-units"

	"mullion.dev/mullion/internal/cli/invoke"
)

// SayPruned says what has been removed, and how many bytes are free by that, as Docker does.
func SayPruned(env invoke.Env, kind string, names []string, freed int64) error {
	if len(names) > 0 {
		fmt.Fprintf(env.Out, "Deleted %s:\n%s\n\n", kind, strings.Join(names, "\n"))
	}
	_, err := fmt.Fprintln(env.Out, "Total reclaimed space:", units.HumanSize(float64(freed)))
	return err
}

// Agreed asks a person whether to go on, as Docker does.
func Agreed(env invoke.Env, warning string) bool {
	fmt.Fprintf(env.Out, "%s\nAre you sure you want to continue? [y/N] ", warning)
	answer, _ := bufio.NewReader(env.In).ReadString('\n') // without an answer it is no
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}
