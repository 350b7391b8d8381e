// Package synopsis owns what help.exe and the switch /? of cmd.exe's builtins say: a line for each command that is
// here, and how a builtin is called, as far as it is carried out
// (https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands).
package synopsis

import (
	"fmt"
	"slices"
	"strings"
)

// Page is the folder of Microsoft's pages of the commands.
const Page = "https://learn.microsoft.com/windows-server/administration/windows-commands/"

// Command is a command of cmd.exe's prompt.
type Command struct {
	Name, Summary string
	// Syntax is how a builtin is called, a way in each line; "" for a program, which says so itself.
	Syntax string
	// Other is the name that the command has too, Page the end of its page if that is not its name.
	Other, Page string
}

// Commands returns the builtins of cmd.exe, and the programs that help.exe lists, by their names.
func Commands() []Command {
	all := slices.Concat(language(), files(), programs())
	slices.SortFunc(all, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Find returns a command by either of its names.
func Find(name string) (Command, bool) {
	for _, c := range Commands() {
		if strings.EqualFold(name, c.Name) || (c.Other != "" && strings.EqualFold(name, c.Other)) {
			return c, true
		}
	}
	return Command{}, false
}

// Help returns what a builtin says after /?.
func (c Command) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\r\n\r\n", c.Summary)
	for line := range strings.Lines(c.Syntax) {
		fmt.Fprintf(&b, "%s\r\n", strings.TrimRight(line, "\n"))
	}

	page := c.Page
	if page == "" {
		page = strings.ToLower(c.Name)
	}
	fmt.Fprintf(&b, "\r\n%s%s\r\n", Page, page)
	return b.String()
}

func language() []Command {
	return []Command{
		{Name: "BREAK", Summary: "Sets or clears extended CTRL+C checking, which changes nothing.", Syntax: "BREAK", Page: "break_1"},
		{Name: "CALL", Summary: "Calls one batch program from another.", Syntax: "CALL [drive:][path]filename [batch-parameters]\nCALL :label arguments"},
		{Name: "CD", Summary: "Displays the name of or changes the current directory.", Syntax: "CD [/D] [drive:][path]\nCD [..]", Other: "CHDIR"},
		{Name: "CLS", Summary: "Clears the screen.", Syntax: "CLS"},
		{Name: "COLOR", Summary: "Sets the default console foreground and background colors, which is checked and changes nothing.", Syntax: "COLOR [attr]"},
		{Name: "DATE", Summary: "Displays the date, which is the machine's and cannot be set.", Syntax: "DATE [/T]"},
		{
			Name: "DOSKEY", Summary: "Edits command lines, recalls Windows commands, and creates macros.",
			Syntax: "DOSKEY [/REINSTALL] [/LISTSIZE=size] [/MACROS[:CMD.EXE | :ALL]] [/HISTORY]\n" +
				"       [/EXENAME=CMD.EXE] [/MACROFILE=filename] [macroname=[text]]",
		},
		{Name: "ECHO", Summary: "Displays messages, or turns command echoing on or off.", Syntax: "ECHO [ON | OFF]\nECHO [message]"},
		{Name: "ENDLOCAL", Summary: "Ends localization of environment changes in a batch file.", Syntax: "ENDLOCAL"},
		{Name: "EXIT", Summary: "Quits the CMD.EXE program (command interpreter).", Syntax: "EXIT [/B] [exitCode]"},
		{
			Name: "FOR", Summary: "Runs a specified command for each file in a set of files.",
			Syntax: "FOR %variable IN (set) DO command [command-parameters]\nFOR /D %variable IN (set) DO command\n" +
				"FOR /R [[drive:]path] %variable IN (set) DO command\nFOR /L %variable IN (start,step,end) DO command\n" +
				"FOR /F [\"options\"] %variable IN (file-set | \"string\" | 'command') DO command",
		},
		{Name: "GOTO", Summary: "Directs the Windows command interpreter to a labeled line in a batch program.", Syntax: "GOTO label\nGOTO :EOF"},
		{
			Name: "IF", Summary: "Performs conditional processing in batch programs.",
			Syntax: "IF [NOT] ERRORLEVEL number command\nIF [/I] [NOT] string1==string2 command\nIF [NOT] EXIST filename command\n" +
				"IF [/I] string1 compare-op string2 command\nIF CMDEXTVERSION number command\nIF DEFINED variable command",
		},
		{Name: "PATH", Summary: "Displays or sets a search path for executable files.", Syntax: "PATH [[drive:]path[;...]]\nPATH ;"},
		{Name: "PAUSE", Summary: "Suspends processing of a batch file and displays a message.", Syntax: "PAUSE"},
		{Name: "POPD", Summary: "Restores the previous value of the current directory saved by PUSHD.", Syntax: "POPD"},
		{Name: "PROMPT", Summary: "Changes the Windows command prompt.", Syntax: "PROMPT [text]"},
		{Name: "PUSHD", Summary: "Saves the current directory then changes it.", Syntax: "PUSHD [path | ..]"},
		{Name: "REM", Summary: "Records comments (remarks) in batch files or CONFIG.SYS.", Syntax: "REM [comment]"},
		{
			Name: "SET", Summary: "Displays, sets, or removes Windows environment variables.",
			Syntax: "SET [variable=[string]]\nSET /A expression\nSET /P variable=[promptString]", Page: "set_1",
		},
		{
			Name: "SETLOCAL", Summary: "Begins localization of environment changes in a batch file.",
			Syntax: "SETLOCAL [ENABLEEXTENSIONS | DISABLEEXTENSIONS] [ENABLEDELAYEDEXPANSION | DISABLEDELAYEDEXPANSION]",
		},
		{Name: "SHIFT", Summary: "Shifts the position of replaceable parameters in batch files.", Syntax: "SHIFT [/n]"},
		{
			Name: "START", Summary: "Starts a separate window to run a specified program or command.",
			Syntax: "START [\"title\"] [/D path] [/B] [/WAIT] [command/program] [parameters]",
		},
		{Name: "TIME", Summary: "Displays the system time, which is the machine's and cannot be set.", Syntax: "TIME [/T]"},
		{Name: "TITLE", Summary: "Sets the window title for a CMD.EXE session.", Syntax: "TITLE [string]", Page: "title_1"},
		{
			Name: "VERIFY", Summary: "Tells Windows whether to verify that your files are written correctly to a disk, which changes nothing.",
			Syntax: "VERIFY [ON | OFF]", Page: "verify_1",
		},
	}
}

func files() []Command {
	return []Command{
		{Name: "ASSOC", Summary: "Displays file extension associations.", Syntax: "ASSOC .ext"},
		{
			Name: "COPY", Summary: "Copies one or more files to another location.",
			Syntax: "COPY [/A | /B] source [/A | /B] [+ source [+ ...]] [destination] [/V] [/Y | /-Y]",
		},
		{Name: "DEL", Summary: "Deletes one or more files.", Syntax: "DEL [/P] [/F] [/S] [/Q] [/A[[:]attributes]] names", Other: "ERASE"},
		{
			Name: "DIR", Summary: "Displays a list of files and subdirectories in a directory.",
			Syntax: "DIR [drive:][path][filename] [/A[[:]attributes]] [/B] [/-C] [/D] [/L] [/O[[:]sortorder]] [/S] [/W]",
		},
		{Name: "FTYPE", Summary: "Displays file types used in file extension associations.", Syntax: "FTYPE fileType"},
		{Name: "MD", Summary: "Creates a directory.", Syntax: "MD [drive:]path", Other: "MKDIR"},
		{
			Name: "MKLINK", Summary: "Creates Symbolic Links and Hard Links.",
			Syntax: "MKLINK [[/D] | [/H] | [/J]] Link Target",
		},
		{Name: "MOVE", Summary: "Moves one or more files from one directory to another directory.", Syntax: "MOVE [/Y | /-Y] [drive:][path]filename1[,...] destination"},
		{Name: "RD", Summary: "Removes a directory.", Syntax: "RD [/S] [/Q] [drive:]path", Other: "RMDIR"},
		{Name: "REN", Summary: "Renames a file or files.", Syntax: "REN [drive:][path]filename1 filename2", Other: "RENAME"},
		{Name: "TYPE", Summary: "Displays the contents of a text file.", Syntax: "TYPE [drive:][path]filename"},
		{Name: "VER", Summary: "Displays the Windows version.", Syntax: "VER"},
		{Name: "VOL", Summary: "Displays a disk volume label and serial number.", Syntax: "VOL [drive:]"},
	}
}

// programs are the programs that help.exe lists, as far as they are here.
func programs() []Command {
	return []Command{
		{Name: "ATTRIB", Summary: "Displays or changes file attributes."},
		{Name: "CHCP", Summary: "Displays or sets the active code page number."},
		{Name: "CHKDSK", Summary: "Checks a disk and displays a status report."},
		{Name: "CMD", Summary: "Starts a new instance of the Windows command interpreter."},
		{Name: "COMP", Summary: "Compares the contents of two files or sets of files."},
		{Name: "FC", Summary: "Compares two files or sets of files, and displays the differences between them."},
		{Name: "FIND", Summary: "Searches for a text string in a file or files."},
		{Name: "FINDSTR", Summary: "Searches for strings in files."},
		{Name: "GPRESULT", Summary: "Displays Group Policy information for machine or user."},
		{Name: "HELP", Summary: "Provides Help information for Windows commands."},
		{Name: "ICACLS", Summary: "Display, modify, backup, or restore ACLs for files and directories."},
		{Name: "LABEL", Summary: "Creates, changes, or deletes the volume label of a disk."},
		{Name: "MORE", Summary: "Displays output one screen at a time."},
		{Name: "ROBOCOPY", Summary: "Advanced utility to copy files and directory trees"},
		{Name: "SC", Summary: "Displays or configures services (background processes)."},
		{Name: "SCHTASKS", Summary: "Schedules commands and programs to run on a computer."},
		{Name: "SHUTDOWN", Summary: "Allows proper local or remote shutdown of machine."},
		{Name: "SORT", Summary: "Sorts input."},
		{Name: "SYSTEMINFO", Summary: "Displays machine specific properties and configuration."},
		{Name: "TASKLIST", Summary: "Displays all currently running tasks including services."},
		{Name: "TASKKILL", Summary: "Kill or stop a running process or application."},
		{Name: "TREE", Summary: "Graphically displays the directory structure of a drive or path."},
		{Name: "WMIC", Summary: "Displays WMI information inside interactive command shell."},
		{Name: "XCOPY", Summary: "Copies files and directory trees."},
	}
}
