package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/docker/go-units"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/single"
)

// checkExplain refuses flags that do not go with --explain, and -o without it.
func (o *options) checkExplain() error {
	switch {
	case o.output != "text" && o.output != "json":
		return engine.Failed(fmt.Errorf("--output %q is neither text nor json", o.output), "for example: --explain -o json")
	case !o.explain && o.output != "text":
		return engine.Failed(errors.New("-o is for --explain: what a program says is its own"), "leave it out")
	case o.explain && o.goTest:
		return engine.Failed(errors.New("--explain does not know --go-test"), "leave one of them out")
	}
	return nil
}

// explainRun prints what a container would get.
func (a *commands) explainRun(ctx context.Context, client *single.Client, ask single.Run, output string) error {
	e, err := client.Explain(ctx, ask)
	if err != nil {
		return engine.RefusedRun(err)
	}
	if output == "json" {
		enc := json.NewEncoder(a.Env.Out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(e)
	}
	_, err = fmt.Fprint(a.Env.Out, explained(e))
	return err
}

// mostShown is how much of a value is shown, in bytes.
const mostShown = 200

// explained returns an explanation as a person reads it. An image's maker has written some of it.
func explained(e single.Explanation) string {
	var out strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&out, "%-13s %s\n", name, plaintext.Printable(fmt.Sprintf(format, args...)))
	}

	if i := e.Image; i != nil {
		line("image", "%s (%s)", i.Reference, i.ID)
		line("base", "%s", i.Base)
		if i.Lacks != "" {
			line("", "it lacks %s", i.Lacks)
		}
	} else {
		line("image", "none: a bare Windows")
	}

	line("windows", "%s (%s)", e.Windows, e.Build)
	line("command line", "%s", e.CommandLine)
	line("folder", "%s", e.Dir)
	line("user", "%s", e.User)
	if e.Hostname != "" {
		line("hostname", "%s", e.Hostname)
	} else {
		line("hostname", "the beginning of the container's id")
	}

	several(line, "environment", "Windows' own alone", e.Env)
	several(line, "mounts", "none", mountLines(e.Mounts))
	several(line, "new volumes", "none", e.Volumes)
	line("network", "%s", e.Network.Name)
	for _, port := range e.Network.Ports {
		line("", "%s", port)
	}

	if len(e.Network.DNS) > 0 {
		line("", "names are asked of %s", strings.Join(e.Network.DNS, ", "))
	}
	line("limits", "%s", limitsLine(e.Limits))
	line("stop", "CTRL_SHUTDOWN_EVENT, and the end after %g s", e.StopTimeout)

	for _, f := range e.Configuration {
		value := string(f.Value)
		if len(value) > mostShown {
			value = value[:mostShown] + "…"
		}
		line("configuration", "%s: %s", f.Name, f.How)
		line("", "  %s", value)
	}

	return out.String()
}

// several prints lines of which the first has the name.
func several(line func(name, format string, args ...any), name, none string, all []string) {
	if len(all) == 0 {
		line(name, "%s", none)
	}
	for i, one := range all {
		if i > 0 {
			name = ""
		}
		line(name, "%s", one)
	}
}

func mountLines(mounts []single.ExplainedMount) (out []string) {
	for _, m := range mounts {
		text := m.Source + " at " + m.Target
		switch {
		case m.Volume != "":
			text = "volume " + m.Volume + " at " + m.Target
		case m.Source == "":
			text = "a new volume at " + m.Target
		}
		if m.ReadOnly {
			text += ", read-only"
		}
		if m.Note != "" {
			text += " (" + m.Note + ")"
		}
		out = append(out, text)
	}
	return out
}

// limitsLine says what bounds a container.
func limitsLine(l single.ExplainedLimits) string {
	var parts []string
	if l.Memory > 0 {
		parts = append(parts, units.BytesSize(float64(l.Memory))+" of memory")
	}
	if l.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d processors", l.CPUs))
	}

	if l.CPUShare > 0 {
		const percent = 100.0
		parts = append(parts, fmt.Sprintf("%g %% of all processors", float64(l.CPUShare)/percent))
	}
	if len(parts) == 0 {
		return "none of its own"
	}

	return strings.Join(parts, ", ")
}
