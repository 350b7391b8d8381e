package command

import (
	"fmt"
	"io"

	"mullion.dev/mullion/internal/check/policy"
	"mullion.dev/mullion/internal/check/rules"
)

// WritePolicies prints the rules as admission policies. It uses only the Kubernetes version and the configuration of
// the options.
func WritePolicies(o Options, out io.Writer) error {
	c, err := readConfig(o.Config, o.Dir)
	if err != nil {
		return &UsageError{err}
	}
	co, err := o.with(c).checkOptions()
	if err != nil {
		return &UsageError{err}
	}

	rs, err := c.apply(rules.All())
	if err != nil {
		return &UsageError{err}
	}
	if co.Kubernetes < policy.FirstValidating {
		return &UsageError{fmt.Errorf("kubernetes version 1.%d: admission policies need 1.%d or later", co.Kubernetes,
			policy.FirstValidating)}
	}

	return policy.Write(out, rs, co.Kubernetes)
}
