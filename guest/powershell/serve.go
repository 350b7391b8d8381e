package powershell

import (
	"errors"

	"mullion.dev/mullion/guest/powershell/clixml"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/engine"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// serve runs the script of a job: what it outputs is sent as objects, and at its end how it has ended. A script that
// throws has failed; exit, and an error that it goes on after, are no failure.
func (s *Session) serve(in *engine.Interpreter, text string) int {
	to := &clixml.Sender{W: s.Stdout, Seals: in.System.Seals}
	in.Divert(func(stream rune, v object.Value) error {
		r := object.Own[*object.ErrorRecord](v)
		if stream == object.ErrorStream && r != nil {
			return to.Send(clixml.Errors, clixml.Record(r))
		}
		return to.Send(map[rune]clixml.Stream{
			object.ErrorStream:       clixml.Errors,
			object.WarningStream:     clixml.Warning,
			object.VerboseStream:     clixml.Verbose,
			object.DebugStream:       clixml.Debug,
			object.InformationStream: clixml.Information,
		}[stream], v)
	}, func(v object.Value) error { return to.Send(clixml.Output, v) })

	script, err := lang.Parse(text, "", dotnet.KnownType)
	if err == nil {
		leave := in.Enter(script)
		err = in.Top.RunScript(script, nil, engine.Feed{}, in.Screen)
		leave()
	}

	left, is := errors.AsType[*object.Leaving](err)
	if err == nil || (is && left.Word != "throw") {
		_ = to.Send(clixml.Completed, nil) // whoever started it may have gone
		return 0
	}
	r := object.RecordOf(err)
	if refused, is := errors.AsType[*lang.Refusal](err); is {
		r = &object.ErrorRecord{Message: refused.Lines("\n"), Class: object.ParseException}
	}
	_ = to.Send(clixml.Failed, clixml.Record(r)) // the same
	return ExitRefused
}
