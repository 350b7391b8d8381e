package volume

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// mostLabel is how long a label of NTFS can be, in characters.
const mostLabel = 32

// Label is label.exe (https://learn.microsoft.com/windows-server/administration/windows-commands/label): it shows the
// label of a drive and asks for another one, or sets the one that is named.
func Label(e program.Env, sys System, args []string) int {
	if len(args) > 0 && strings.EqualFold(args[0], "/mp") {
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "/?" {
		e.Print("Creates, changes, or deletes the volume label of a disk.\r\n\r\nLABEL [drive:][label]\r\nLABEL [/MP] [volume] [label]\r\n")
		return exitDone
	}

	current, err := filepath.Abs("")
	if err != nil {
		e.Complain("%s", words(err))
		return exitFailed
	}
	letter, root := drive(current)
	text, given := strings.Join(args, " "), len(args) > 0
	if len(text) > 1 && text[1] == ':' {
		if !isDrive(text[:2]) {
			e.Complain("Invalid drive specification")
			return exitFailed
		}
		letter, text = strings.ToUpper(text[:2]), strings.TrimSpace(text[2:])
		root, given = letter+`\`, text != ""
	}

	v, err := sys.Volume(root)
	if err != nil {
		e.Complain("The drive specified is invalid, or there is no disk in the drive.")
		return exitFailed
	}
	if !given {
		var asked bool
		if text, asked = ask(e, letter, v); !asked {
			return exitDone
		}
	}
	return setLabel(e, sys, root, text)
}

// ask shows the label of a volume and asks for another one. An empty line takes the label away after a question.
func ask(e program.Env, letter string, v Volume) (label string, given bool) {
	if v.Label == "" {
		e.Print("Volume in drive %s has no label", letter)
	} else {
		e.Print("Volume in drive %s is %s", letter, v.Label)
	}
	e.Print("Volume Serial Number is %04X-%04X", v.Serial>>16, v.Serial&0xFFFF)

	in := bufio.NewReader(e.Stdin)
	fmt.Fprintf(e.Stdout, "Volume label (%d characters, ENTER for none)? ", mostLabel)
	line, err := in.ReadString('\n')
	label = strings.TrimRight(line, "\r\n")
	if label != "" {
		return label, true
	}
	if err != nil || v.Label == "" {
		e.Print("")
		return "", false
	}

	fmt.Fprint(e.Stdout, "\r\nDelete current volume label (Y/N)? ")
	line, _ = in.ReadString('\n')
	return "", strings.EqualFold(strings.TrimSpace(line), "y")
}

// setLabel sets a label that a volume can have.
func setLabel(e program.Env, sys System, root, text string) int {
	if len([]rune(text)) > mostLabel || strings.ContainsAny(text, "*?/\\|.,;:+=[]<>\"\t") {
		e.Complain("Cannot change label. This volume label is not valid.\r\nThe volume label syntax is incorrect.")
		return exitFailed
	}
	before, _ := sys.Volume(root) // it was asked before
	err := sys.SetLabel(root, text)
	if err == nil {
		// without its mount manager Wine takes a label that nobody is shown
		if v, wrong := sys.Volume(root); wrong != nil || v.Label != text {
			err = errors.Join(fs.ErrPermission, sys.SetLabel(root, before.Label))
		}
	}
	if err != nil {
		e.Complain("Cannot change label. %s", words(err))
		return exitFailed
	}
	return exitDone
}
