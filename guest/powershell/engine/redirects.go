package engine

import (
	"fmt"
	"io"
	"maps"
	"os"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// message prints a message of a stream, or puts it where the stream goes.
func (in *Interpreter) message(stream rune, what, end string) error {
	if to := in.messages[stream]; to != nil {
		return to.Put(what)
	}
	in.Format.End()
	if stream != object.InformationStream { // warnings, and what -Verbose and -Debug say
		defer in.Paint("yellow", "black")()
	}
	_, err := fmt.Fprintf(in.Shown(in.Stdout), "%s%s", what, end)
	return err
}

// redirected runs a stage whose errors or messages go nowhere, into a file or into its output, if it says so.
func (f *frame) redirected(s lang.Stage, input []object.Value, piped bool, out *object.Sink) error {
	if s.Errors == "" && len(s.Others) == 0 {
		return f.doStage(s, input, piped, out)
	}
	in := f.in
	errs, messages := in.errs, in.messages
	defer func() { in.errs, in.messages = errs, messages }()
	out = in.apart(out)
	switch s.Errors {
	case "null":
		in.errs.w, in.errs.merged = io.Discard, nil
	case "merge":
		in.errs.merged = out
	}

	in.messages = map[rune]*object.Sink{}
	maps.Copy(in.messages, messages)
	files := make([][]object.Value, len(s.Others))
	for i, r := range s.Others {
		to := out
		if r.File != nil {
			to = object.Collect(&files[i])
		}
		for _, stream := range []rune{
			object.WarningStream, object.VerboseStream, object.DebugStream,
			object.InformationStream,
		} {
			if r.Stream == stream || r.Stream == object.AllStreams {
				in.messages[stream] = to
			}
		}
		if r.Stream == object.ErrorStream {
			in.errs.w, in.errs.merged = io.Discard, to
		}
	}

	err := f.doStage(s, input, piped, out)
	in.errs, in.messages = errs, messages
	for i, r := range s.Others {
		if r.File == nil {
			continue
		}
		if wrong := f.writeOutput(r.File, r.Append, files[i]); err == nil {
			err = wrong
		}
	}

	return err
}

// writeOutput writes output into a file; $null is nowhere.
func (f *frame) writeOutput(file lang.Expr, more bool, got []object.Value) error {
	path, err := f.value(file)
	if err != nil || path == nil {
		return err
	}
	where := f.in.Placed(object.Text(path))
	if err := binding.BadTarget(where); err != nil {
		return object.Thrown("%v.", err)
	}
	missing := func(err error) error {
		return f.complain(f.Preference("erroractionpreference"), &object.Invoked{
			Name: "out-file", Command: "Out-File", Kind: "Cmdlet", At: f.in.here(),
		}, err)
	}
	if err := provider.NoDrive(where); err != nil {
		return missing(err)
	}
	content, err := format.Formatted(got, f.in.Newline)
	if err != nil {
		return err
	}
	how := os.O_TRUNC
	if more {
		how = os.O_APPEND
	}
	if err := provider.WriteShown(f.in.State, f.in.Path(object.Text(path)), content, "", how); err != nil {
		return missing(provider.Because(object.Text(path), err))
	}

	return nil
}
