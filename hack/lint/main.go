// Command lint is golangci-lint with the analyzers of this repository. `make lint` runs it.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"mullion.dev/mullion/hack/lint/breathe"
)

func main() {
	register.Plugin("breathe", func(any) (register.LinterPlugin, error) { return plugin{}, nil })

	if err := commands.Execute(built()); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(exitcodes.Failure)
	}
}

// built says which golangci-lint this is.
func built() commands.BuildInfo {
	const module = "github.com/golangci/golangci-lint/v2"
	info := commands.BuildInfo{Version: "unknown", Commit: "?"}

	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}

	info.GoVersion = build.GoVersion
	for _, m := range build.Deps {
		if m.Path == module {
			info.Version = m.Version
		}
	}

	return info
}

// plugin hands the analyzer to golangci-lint.
type plugin struct{}

func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{breathe.Analyzer()}, nil
}

func (plugin) GetLoadMode() string { return register.LoadModeSyntax }
