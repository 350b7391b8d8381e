package main

import "testing"

// TestAskedOfOneCommit: what is asked for is a share of one commit's time, and stands beside no other's.
func TestAskedOfOneCommit(t *testing.T) {
	for text, want := range map[string]bool{
		"206638e6=/x":   true,
		"206638e6aa=/x": true,
		"e0bade5b=/x":   false,
		"2066=/x":       false,
	} {
		var p programs
		if err := p.Set(text); err != nil || p.is(asked) != want {
			t.Errorf("%s: %t, %v", text, p.is(asked), err)
		}
	}
}
