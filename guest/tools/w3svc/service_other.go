//go:build !windows

package w3svc

import (
	"fmt"
	"io"
)

// Run says that there are services on Windows alone.
func Run(stderr io.Writer) int {
	fmt.Fprintf(stderr, "%s: services are there on Windows alone\n", Name)
	return 1
}
