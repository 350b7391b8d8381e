// Package errtext reads the texts of errors whose cause somebody else has dropped: programs that tell us of theirs in
// words, and libraries that wrap none. It is the only place where a text decides (internal/arch holds that); whoever
// still has the cause asks errors.Is.
package errtext

import (
	"errors"
	"strings"
	"syscall"
)

// DiskFull reports whether an error is that a disk is full. Those of containerd and etcd arrive as text, and so do the
// last lines of a program that has ended.
func DiskFull(err error) bool { return has(err, syscall.ENOSPC) }

// NotThere reports whether an error is that something is not there. github.com/google/nftables drops the cause
// (https://github.com/google/nftables/blob/v0.3.0/set.go, GetSetElements).
func NotThere(err error) bool { return has(err, syscall.ENOENT) }

// TooLate reports whether a request was not made because its turn would come after its deadline, which the limiter of
// Kubernetes' client says in words (https://pkg.go.dev/golang.org/x/time/rate#Limiter.Wait).
func TooLate(err error) bool {
	return err != nil && strings.Contains(err.Error(), "would exceed context deadline")
}

// has reports whether an error has a cause, or only its text.
func has(err error, cause syscall.Errno) bool {
	return err != nil && (errors.Is(err, cause) || strings.Contains(err.Error(), cause.Error()))
}
