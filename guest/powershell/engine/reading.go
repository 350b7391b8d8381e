package engine

import (
	"context"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// Interruptible runs do with a context that Ctrl+C ends.
func (in *Interpreter) Interruptible(interrupts <-chan struct{}, do func() error) error {
	outer := in.Context
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	in.Context = ctx
	defer func() { in.Context = outer }()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-interrupts:
			cancel()
		case <-done:
		}
	}()
	return do()
}

// readFile reads and checks a script file.
func (in *Interpreter) readFile(file string) (*lang.Script, error) {
	text, err := os.ReadFile(in.Path(file))
	if err != nil {
		return nil, object.Thrown("The script file: %v", provider.Because(file, err))
	}
	script, err := lang.Parse(provider.ScriptText(text), in.Path(file), dotnet.KnownType)
	if err != nil {
		return nil, err
	}
	script.File = in.Path(file)
	return script, nil
}

// RunFile runs a script file with arguments.
func (in *Interpreter) RunFile(f *frame, file string, args []string, fed Feed, out *object.Sink) error {
	script, err := in.readFile(file)
	if err != nil {
		return err
	}
	var passed []lang.Argument
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "-"); ok && name != "" {
			passed = append(passed, lang.Argument{Param: strings.ToLower(name), Text: a})
		} else {
			passed = append(passed, lang.Argument{X: &lang.Literal{V: a}})
		}
	}

	return in.callScript(f, script, passed, fed, out)
}
