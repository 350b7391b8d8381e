//go:build !windows

package main

import "os"

func main() {
	_, _ = os.Stderr.WriteString("this program is for Windows\n")
	os.Exit(1)
}
