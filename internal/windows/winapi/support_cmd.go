package winapi

import "mullion.dev/mullion/internal/base/support"

// cmdRow returns the row of cmd.exe.
func cmdRow() support.Row {
	return support.Row{
		Name:  "cmd.exe",
		Level: support.Partly,
		Ref:   "https://learn.microsoft.com/windows-server/administration/windows-commands/cmd",
		Note: "Mullion's own, the same on every Wine; docs/compat/shells.md lists the constructs that are tested: percent and delayed expansion, quotes and carets, &, &&, || and pipes with builtins or blocks on either side, redirections of the handles 0 to 9, if, for in all " +
			"forms, call, goto, setlocal, set with /a and /p, the modifiers of %~, ERRORLEVEL and exit codes, batch files, a prompt with line editing, history and completion of file names by Tab, and the builtins of Windows. Not so: text is " +
			"UTF-8 in files and pipes (/u and chcp change nothing); a batch file is read once, when it starts; programs get the handles 0 to 2 only; AutoRun is not read (as with /d); /? names the page of " +
			"Microsoft's documentation; date and time cannot be set, assoc and ftype only shown; color changes nothing; start opens no window, sets no priority, affinity or size, and runs a batch file with cmd /c; a file that is no program " +
			"is not opened by its association; mklink /j makes a symbolic link; pushd on a share makes the share itself the current folder, without a drive letter; dir has /a, /b, /s, /o, /l, /w and /-c, its other switches change nothing; copy, " +
			"move and del have the switches of Windows. 8.3 names do not exist, so wild cards do not match them; a long or deeply nested line is refused as it is there, with limits of its own (8,191 characters, 500 blocks in each other, 600 calls)",
	}
}
