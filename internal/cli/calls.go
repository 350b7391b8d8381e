package cli

import (
	"mullion.dev/mullion/internal/cli/down"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/join"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/up"
)

// calls are what several commands ask of packages that reach for the machine or for a cluster that is up. Tests have
// others in their place.
type calls struct {
	reader.Sources

	hold invoke.Lock
	up   up.Calls
	join join.Calls
	down down.Calls
}

// realCalls returns those of the program.
func realCalls() calls {
	return calls{
		Sources: reader.RealSources(),
		up:      up.Real(),
		join:    join.Real(),
		down:    down.Real(),
	}
}
