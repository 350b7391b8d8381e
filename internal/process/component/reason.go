package component

import (
	"context"
	"errors"
)

// Reason says why a unit is not as it should be, where somebody decides by it. What people read is the error's text.
type Reason string

// Reasons of units.
const (
	// Halted: somebody has stopped by hand what the unit keeps.
	Halted Reason = "halted"
	// Cancelled: the unit's start was given up, because another one failed or the cluster is stopped.
	Cancelled Reason = "cancelled"
	// NoCNI: the node's container runtime has no CNI plugin.
	NoCNI Reason = "no-cni"
)

// ReasonError is an error with its reason. Its text is that of Err.
type ReasonError struct {
	Reason Reason
	Err    error
}

func (e *ReasonError) Error() string { return e.Err.Error() }

// Unwrap gives the error that has the text.
func (e *ReasonError) Unwrap() error { return e.Err }

// ReasonOf returns the reason that an error has, "" for one of which nothing depends.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*ReasonError](err); ok {
		return e.Reason
	}
	if errors.Is(err, context.Canceled) {
		return Cancelled
	}

	return ""
}
