// Package lang reads PowerShell's language: a text becomes a Script, a tree of statements and expressions. The error
// of a text that is not PowerShell is a *Refusal, in PowerShell's words. The package runs nothing.
//
//	text ── Parse ──▶ Script
package lang
