//go:build !windows

package main

import "os"

// describe serves the tests; the sample is for Windows.
func describe() system {
	host, _ := os.Hostname()
	return system{
		version: "not Windows",
		product: "not Windows",
		host:    host,
		user:    "unknown",
	}
}
