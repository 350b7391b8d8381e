package up

import (
	"errors"
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// hasPrograms returns an error with a remedy if a node is to have programs that this machine has not got.
func hasPrograms(c spec.Cluster, paths layout.Paths) error {
	err := cluster.HasPrograms(c, paths.Bin)
	missing, is := errors.AsType[*cluster.MissingProgramError](err)
	if !is {
		return err
	}
	field, _, _ := strings.Cut(missing.Want, ":")
	return &exit.Error{
		Code:   exit.Requirement,
		Err:    err,
		Remedy: fmt.Sprintf("in a checkout, `make %s` builds it; or leave %s out of the node", missing.Make, field),
	}
}
