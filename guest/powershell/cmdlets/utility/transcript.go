package utility

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// transcriptCmdlets returns Start-Transcript and Stop-Transcript
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.host/start-transcript?view=powershell-5.1).
func transcriptCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name: "Start-Transcript",
			About: "writes what the session shows into a file too, but for what programs write that are not in a " +
				"pipeline; commands are in it as they are shown, not as they are typed",
			Run:       startTranscript,
			Values:    []string{cmdlet.PathName, cmdlet.LiteralName, "outputdirectory"},
			Flags:     []string{"append", "force", "noclobber", "includeinvocationheader"},
			Also:      map[string]string{"nooverwrite": "noclobber"},
			Positions: []string{cmdlet.PathName},
		},
		{Name: "Stop-Transcript", About: "ends the transcript that was begun last", Run: stopTranscript},
	}
}

const transcriptRule = "**********************"

// transcriptPath returns the file that a call means: without a name one of the user's documents.
func transcriptPath(c *cmdlet.Call) string {
	for _, name := range []string{cmdlet.PathName, cmdlet.LiteralName} {
		if path := c.Text(name); path != "" {
			return c.State.Path(path)
		}
	}
	folder := c.Text("outputdirectory")
	if folder == "" {
		folder = filepath.Join(c.State.Env["USERPROFILE"], "Documents")
	}
	name := fmt.Sprintf("PowerShell_transcript.%s.%08x.%s.txt", c.State.Env["COMPUTERNAME"], rand.Uint32(),
		time.Now().Format("20060102150405"))
	return filepath.Join(c.State.Path(folder), name)
}

func startTranscript(c *cmdlet.Call) error {
	path := transcriptPath(c)
	how := os.O_TRUNC
	if c.Flags["append"] {
		how = os.O_APPEND
	}
	if c.Flags["noclobber"] && !c.Flags["append"] {
		how = os.O_EXCL
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return object.Thrown("%s : %v", c.Name, provider.Because(path, err))
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o644)
	if err != nil {
		return object.Thrown("%s : %v", c.Name, provider.Because(path, err))
	}

	env := c.State.Env
	user := env["USERDOMAIN"] + `\` + env["USERNAME"]
	lines := []string{
		transcriptRule,
		"Windows PowerShell transcript start",
		"Start time: " + time.Now().Format("20060102150405"),
		"Username: " + user,
		"RunAs User: " + user,
		"Machine: " + env["COMPUTERNAME"],
		"Host Application: " + c.State.Self,
		fmt.Sprintf("Process ID: %d", os.Getpid()),
		transcriptRule,
		"",
	}

	mark := "\uFEFF" // 5.1 writes UTF-8 with a mark
	if info, err := file.Stat(); err != nil || info.Size() > 0 {
		mark = ""
	}
	if _, err := file.WriteString(mark + strings.Join(lines, c.State.Newline)); err != nil {
		file.Close()
		return object.Thrown("%s : %v", c.Name, provider.Because(path, err))
	}
	c.State.Transcribe(file)
	return c.Output("Transcript started, output file is " + path)
}

func stopTranscript(c *cmdlet.Call) error {
	if c.State.Settle != nil {
		c.State.Settle()
	}

	file := c.State.Transcribed()
	if file == nil {
		return &object.Exception{
			Class:    "System.InvalidOperationException",
			ID:       "InvalidOperation",
			Category: object.InvalidOperating,
			Message:  "An error occurred stopping transcription: The host is not currently transcribing.",
		}
	}

	defer file.Close()

	lines := []string{
		transcriptRule,
		"Windows PowerShell transcript end",
		"End time: " + time.Now().Format("20060102150405"),
		transcriptRule,
		"",
	}

	if _, err := file.WriteString(strings.Join(lines, c.State.Newline)); err != nil {
		return object.Thrown("%s : %v", c.Name, provider.Because(file.Name(), err))
	}
	return c.Output("Transcript stopped, output file is " + file.Name())
}
