package up

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/spec/aksengine"
)

// describesFile is the remedy for a mistake in cluster.yaml. A package has the page, in a folder of its own.
const describesFile = "docs/guide/nodes.md describes cluster.yaml; a package has it below share/doc/mullion"

// loadSpec reads a cluster.yaml, or an API model of AKS Engine's; what a model asks for in vain is said.
func (a *Commands) loadSpec(ctx context.Context, file string) (spec.Cluster, error) {
	in := interrupt.Reader(ctx, a.Env.In)
	if file != "-" {
		f, err := beneath.OpenGiven(file)
		if err != nil {
			return spec.Cluster{}, exit.Misuse(fmt.Errorf("read the cluster's description: %w", err),
				"name a cluster.yaml that exists, or - for standard input; "+describesFile)
		}
		defer f.Close()
		in = interrupt.Reader(ctx, f)
	}

	text, err := io.ReadAll(io.LimitReader(in, spec.MaxFile+1))
	if err != nil {
		return spec.Cluster{}, fmt.Errorf("read %q: %w", file, err)
	}
	if len(text) <= spec.MaxFile && aksengine.Is(text) {
		return a.loadModel(file, text)
	}

	c, err := spec.Load(bytes.NewReader(text))
	if err == nil {
		err = cluster.CheckPrograms(c)
	}
	if err != nil {
		return c, exit.Misuse(fmt.Errorf("%s: %w", file, err), describesFile)
	}

	return c, nil
}

// loadModel reads an API model of AKS Engine's.
func (a *Commands) loadModel(file string, text []byte) (spec.Cluster, error) {
	c, notes, err := aksengine.Read(text)
	if err == nil {
		err = cluster.CheckPrograms(c)
	}
	if err != nil {
		return c, exit.Misuse(fmt.Errorf("%s, an API model of AKS Engine: %w", file, err),
			"say it in a cluster.yaml in place of a model; "+describesFile)
	}
	for _, n := range notes {
		fmt.Fprintf(a.Env.Err, "%s: %s\n", file, n)
	}

	return c, nil
}
