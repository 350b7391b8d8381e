// Package lineedit edits the line that a person types at a prompt: keys, history and completion, the same for
// powershell.exe and cmd.exe. Wine's console edits lines too, but has no completion before Wine 9, and PowerShell's
// comes from what the session knows.
//
// The keys are those of PSReadLine's Windows mode, with which Windows PowerShell 5.1 has its prompt
// (https://learn.microsoft.com/en-us/powershell/module/psreadline/about/about_psreadline), and the function keys of
// Windows' console (https://learn.microsoft.com/en-us/windows/console/console-functions, F1, F3, F5, F7, F8). A history
// is kept as long as the session: nothing of it goes to a file, where PSReadLine would leave what was typed, secrets
// included, in a container's layer.
//
//	keys ── Editor ──▶ a line
//	          │ draws by Terminal: the console, or a test's
package lineedit
