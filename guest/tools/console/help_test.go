package console

import (
	"errors"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// asked keeps what cmd.exe is to run.
type asked struct {
	line string
	err  error
}

func (a *asked) Command(e program.Env, line string) (int, error) {
	a.line = line
	e.Print("what it does")
	return 7, a.err
}

// TestHelp lists the commands, and asks for what one does.
func TestHelp(t *testing.T) {
	list := programtest.Run("", func(e program.Env) int { return Help(e, &asked{}, nil) })
	if list.Code != 0 || !strings.HasPrefix(list.Out, "For more information on a specific command, type HELP command-name\nASSOC          ") {
		t.Errorf("the list: %+v", list)
	}
	for _, line := range []string{
		"CD             Displays the name of or changes the current directory.\n", "CHDIR          Displays the name",
		"XCOPY          Copies files and directory trees.\n",
	} {
		if !strings.Contains(list.Out, line) {
			t.Errorf("the list has no %q", line)
		}
	}

	a := &asked{}
	got := programtest.Run("", func(e program.Env) int { return Help(e, a, []string{"chdir"}) })
	if want := (programtest.Result{Code: 7, Out: "what it does\n"}); got != want || a.line != "CHDIR /?" {
		t.Errorf("help chdir: %+v, asked %q", got, a.line)
	}

	unknown := programtest.Run("", func(e program.Env) int { return Help(e, a, []string{"NoSuch&calc"}) })
	if want := (programtest.Result{Code: 1, Out: "This command is not supported by the help utility.  Try \"nosuch&calc /?\".\n"}); unknown != want || a.line != "CHDIR /?" {
		t.Errorf("an unknown command: %+v, asked %q", unknown, a.line)
	}
	broken := programtest.Run("", func(e program.Env) int { return Help(e, &asked{err: errors.New("no cmd.exe")}, []string{"dir"}) })
	if broken.Code != 1 || broken.Err != "help: no cmd.exe\n" {
		t.Errorf("without cmd.exe: %+v", broken)
	}
}
