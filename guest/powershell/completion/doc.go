// Package completion finds what may stand where the cursor is in a command that is being typed: commands, parameters
// and their values, paths and the items of drives, variables, types, and the members of a variable's value. It reads
// what the session has and runs nothing of it. What is offered, and how it is written, follows TabExpansion2 of Windows
// PowerShell 5.1
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_tab_expansion).
//
//	text ── scan ──▶ the word at the cursor, and its command ── At ──▶ lineedit.Completion
package completion
