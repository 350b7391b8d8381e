// Package slow has tests that wait.
package slow

import (
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"
)

func TestSlow(t *testing.T) {
	if os.Getenv("SLOW") == "" {
		t.Skip("nobody asks for it")
	}
	if os.Getenv("SLOW") == "deaf" {
		signal.Ignore(os.Interrupt)
	}
	fmt.Println("waiting")
	time.Sleep(time.Hour)
}
