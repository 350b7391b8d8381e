package engine

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// The variables that decide what a function does before it changes something
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_preference_variables).
const (
	whatIf   = "whatifpreference"
	confirms = "confirmpreference"
)

// running returns $PSCmdlet of a function or script that runs in this scope, with the parameter set of its call
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.pscmdlet).
func (f *frame) running(s *lang.Script, set string) *object.Instance {
	r := &runningCmdlet{f: f, s: s}
	value := func(v func() object.Value) func(*session.State, object.Value) (object.Value, error) {
		return func(*session.State, object.Value) (object.Value, error) { return v(), nil }
	}

	return &object.Instance{V: r, Of: &object.Class{
		Name: "System.Management.Automation.PSScriptCmdlet",
		Props: []object.Field{
			{Name: "ParameterSetName", Get: value(func() object.Value { return set })},
			{Name: "MyInvocation", Get: value(func() object.Value { return f.Get("myinvocation") })},
		},
		Methods: []object.Method{
			{Name: "ShouldProcess", Least: 1, Most: 3, Do: r.shouldProcess},
			{Name: "ShouldContinue", Least: 2, Most: 2, Do: r.shouldContinue},
			{Name: "ThrowTerminatingError", Least: 1, Most: 1, Do: r.throw},
			{Name: "WriteError", Least: 1, Most: 1, Do: r.writeError},
			{Name: "WriteVerbose", Least: 1, Most: 1, Do: r.writes("verbosepreference", object.VerboseStream, "VERBOSE: ")},
			{Name: "WriteWarning", Least: 1, Most: 1, Do: r.writes("warningpreference", object.WarningStream, "WARNING: ")},
			{Name: "WriteDebug", Least: 1, Most: 1, Do: r.writes("debugpreference", object.DebugStream, "DEBUG: ")},
		},
	}}
}

// runningCmdlet is a function or script that runs, and what a person has answered to all its questions: "a" or "l".
type runningCmdlet struct {
	f       *frame
	s       *lang.Script
	forAll  string
	already string // the same of ShouldContinue
}

// shouldProcess carries out ShouldProcess(target), (target, action) or (description, warning, caption): whether
// something is to be changed. With $WhatIfPreference it is said and not done, and what has at least the impact of
// $ConfirmPreference is asked.
func (r *runningCmdlet) shouldProcess(c *object.Call) (object.Value, error) {
	action, target := cmp.Or(r.s.Name, dotnet.FileName(r.s.File)), c.Text(0)
	if len(c.Args) > 1 {
		action = c.Text(1)
	}
	description := fmt.Sprintf("Performing the operation %q on target %q.", action, target)
	warning, caption := description, "Are you sure you want to perform this action?"
	if len(c.Args) == 3 {
		description = c.Text(0)
		warning, caption = c.Text(1), c.Text(2)
	}

	if object.Truth(r.f.Get(whatIf)) {
		return false, r.print("What if: " + description)
	}
	if r.f.impactAsks(r.s.Impact) {
		title := "Confirm"
		if len(c.Args) == 3 {
			title = caption
			caption = ""
		}
		return r.ask(title, strings.TrimSpace(caption+r.f.in.Newline+warning), &r.forAll)
	}

	return true, r.message("verbosepreference", object.VerboseStream, "VERBOSE: ", description)
}

// impactAsks reports whether what changes so much is asked before.
func (f *frame) impactAsks(impact string) bool {
	if impact == "" {
		impact = "medium"
	}
	of := slices.Index(lang.Impacts(), strings.ToLower(object.Text(f.Get(confirms))))
	return of > 0 && impact != "none" && slices.Index(lang.Impacts(), impact) >= of
}

// shouldContinue carries out ShouldContinue(query, caption), which asks whatever the preferences are.
func (r *runningCmdlet) shouldContinue(c *object.Call) (object.Value, error) {
	return r.ask(c.Text(1), c.Text(0), &r.already)
}

// ask asks the person, unless it has an answer to all questions. No answer is Yes.
func (r *runningCmdlet) ask(title, question string, forAll *string) (object.Value, error) {
	if *forAll != "" {
		return *forAll == "a", nil
	}

	const choices = `[Y] Yes  [A] Yes to All  [N] No  [L] No to All  [S] Suspend  [?] Help (default is "Y"): `
	if err := r.print("\n" + title + "\n" + question); err != nil {
		return nil, err
	}
	for {
		if _, err := io.WriteString(r.f.in.Stdout, choices); err != nil {
			return nil, object.Thrown("%v.", err)
		}
		answer, err := dotnet.ReadLine(r.f.in.Stdin)
		if err != nil {
			return nil, object.Thrown("Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.")
		}

		switch answer = strings.ToLower(strings.TrimSpace(answer)); answer {
		case "", "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		case "a", "l":
			*forAll = answer
			return answer == "a", nil
		}
	}
}

// print prints lines for the person.
func (r *runningCmdlet) print(text string) error { return r.f.in.say(text) }

// say prints a text for the person alone.
func (in *Interpreter) say(text string) error {
	in.Format.End()
	_, err := io.WriteString(in.Stdout, strings.ReplaceAll(text, "\n", in.Newline)+in.Newline)
	return err
}

// writes returns a method that writes a message of a stream, if its preference wants it.
func (r *runningCmdlet) writes(preference string, stream rune, mark string) func(c *object.Call) (object.Value, error) {
	return func(c *object.Call) (object.Value, error) { return nil, r.message(preference, stream, mark, c.Text(0)) }
}

func (r *runningCmdlet) message(preference string, stream rune, mark, text string) error {
	wanted := r.f.Preference(preference)
	if wanted == "silentlycontinue" || wanted == "ignore" {
		return nil
	}
	shown := text
	if !r.f.Elsewhere(stream) {
		shown = mark + text
	}
	err := r.f.Message(stream, shown, r.f.in.Newline)
	if err == nil && wanted == "stop" {
		return object.Fatal("The running command stopped because its preference is Stop: %s", text)
	}
	return err
}

// throw carries out ThrowTerminatingError(record).
func (r *runningCmdlet) throw(c *object.Call) (object.Value, error) {
	record := object.Own[*object.ErrorRecord](c.Arg(0))
	if record == nil {
		return nil, object.Thrown("ThrowTerminatingError takes an ErrorRecord.")
	}
	r.blame(record)
	return nil, &object.Leaving{
		Word:     "throw",
		What:     c.Arg(0),
		Function: true,
	}
}

// writeError carries out WriteError(record): an error after which the function goes on.
func (r *runningCmdlet) writeError(c *object.Call) (object.Value, error) {
	record := object.Own[*object.ErrorRecord](c.Arg(0))
	if record == nil {
		return nil, object.Thrown("WriteError takes an ErrorRecord.")
	}
	r.blame(record)
	r.f.in.OK = false
	return nil, r.f.reported(r.f.Preference("erroractionpreference"), record)
}

// blame says that an error is of the function that runs.
func (r *runningCmdlet) blame(record *object.ErrorRecord) {
	if by := r.f.Caller(); by != nil && record.By == nil {
		record.Place = object.Place{
			By:    by,
			At:    by.At,
			Trace: r.f.in.trace(),
		}
	}
}

// changing returns the verbs of cmdlets that change something, and therefore have -WhatIf and -Confirm in Windows.
func changing() []string {
	return []string{
		"add", "attach", "clear", "compress", "connect", "copy", "detach", "disable", "disconnect", "dismount",
		"enable", "expand", "export", "format", "initialize", "install", "mount", "move", "new", "out", "register",
		"remove", "rename", "resize", "restart", "set", "start", "stop", "suspend", "tee", "unblock", "uninstall",
		"unregister", "update",
	}
}

// harmless returns the cmdlets with such verbs that change nothing but the session.
func harmless() []string {
	return []string{
		"add-member", "add-type", "clear-host", "export-modulemember", "format-custom", "format-hex", "format-list", "format-table",
		"format-wide", "new-event", "new-guid", "new-object", "new-timespan", "out-default", "out-host", "out-null", "out-string",
		"register-engineevent", "register-objectevent", "set-location", "set-psdebug", "set-strictmode", "start-job",
		"start-sleep", "tee-object", "oss", "pause",
	}
}

// Changes reports whether a cmdlet of this name changes something beside the session.
func Changes(name string) bool {
	name = strings.ToLower(name)
	verb, _, _ := strings.Cut(name, "-")
	return name == "mkdir" || (slices.Contains(changing(), verb) && !slices.Contains(harmless(), name))
}

// asksBefore refuses a cmdlet that would change something where Windows would only say so, or ask: neither is here.
func (f *frame) asksBefore(c cmdlet.Cmdlet, b binding.Bound) error {
	if !Changes(c.Name) {
		return nil
	}

	switch {
	case c.WhatIf == nil && object.Truth(f.Get(whatIf)):
		return fmt.Errorf("%s with $WhatIfPreference, which -WhatIf sets, is %s", c.Name, words.NotHere)
	case b[cmdlet.ConfirmName] == nil && f.impactAsks("medium"):
		return fmt.Errorf("%s with $ConfirmPreference %s, which -Confirm sets to Low, is %s", c.Name,
			object.Text(f.Get(confirms)), words.NotHere)
	}

	return nil
}

// whatIf reports whether a cmdlet is to say what it would do: by its parameter, which -WhatIf:$false is too, or by
// $WhatIfPreference.
func (f *frame) whatIf(c *cmdlet.Call) bool {
	if is, given := c.Flags[cmdlet.WhatIfName]; given {
		return is
	}
	return object.Truth(f.Get(whatIf))
}

// sayDeeds says what a cmdlet would do.
func (f *frame) sayDeeds(c *cmdlet.Call) error {
	deeds, err := c.WhatIf(c)
	for _, d := range deeds {
		text := fmt.Sprintf("What if: Performing the operation \"%s\" on target \"%s\".", d.What, d.On)
		if err := f.in.say(text); err != nil {
			return err
		}
	}
	return err
}
