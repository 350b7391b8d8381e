package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// action is an action.yml of kind composite
// (https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax).
type action struct {
	Name        string              `yaml:"name"`
	Description string              `yaml:"description"`
	Author      string              `yaml:"author"`
	Branding    map[string]string   `yaml:"branding"`
	Inputs      map[string]declared `yaml:"inputs"`
	Outputs     map[string]declared `yaml:"outputs"`
	Runs        struct {
		Using string `yaml:"using"`
		Steps []step `yaml:"steps"`
	} `yaml:"runs"`
}

// declared is an input or an output.
type declared struct {
	Description string `yaml:"description"`
	Default     string `yaml:"default"`
	Value       string `yaml:"value"`
}

type step struct {
	Name  string            `yaml:"name"`
	ID    string            `yaml:"id"`
	If    string            `yaml:"if"`
	Shell string            `yaml:"shell"`
	Run   string            `yaml:"run"`
	Uses  string            `yaml:"uses"`
	With  map[string]string `yaml:"with"`
	Env   map[string]string `yaml:"env"`
}

func load(dir string) (action, error) {
	var a action
	f, err := os.Open(filepath.Join(dir, "action.yml"))
	if err != nil {
		return a, err
	}
	defer f.Close()

	decoder := yaml.NewDecoder(f)
	decoder.KnownFields(true)
	if err := decoder.Decode(&a); err != nil {
		return a, fmt.Errorf("read %q: %w", f.Name(), err)
	}
	if a.Runs.Using != "composite" {
		return a, fmt.Errorf("read %q: it runs %q, not composite", f.Name(), a.Runs.Using)
	}

	return a, nil
}

// runner is a job that uses one action.
type runner struct {
	// Action is the action's folder, an absolute path or one below the working directory.
	Action string
	// Inputs are what the job gives it.
	Inputs map[string]string
	// Repository and Ref are where the action comes from, Temp is the runner's folder for the job.
	Repository, Ref, Temp string
	// Environ is the steps' environment, Out takes their output.
	Environ []string
	Out     io.Writer
}

// result is what a job sees of an action.
type result struct {
	Outputs map[string]string
	// Uses are the steps that use other actions, with their inputs.
	Uses []step
	// Summary is the text of the job's summary.
	Summary string
}

// Run runs the steps. The error is that of the first one that failed; steps with always() run all the same.
func (r runner) Run(ctx context.Context) (result, error) {
	var got result
	dir, err := filepath.Abs(r.Action)
	if err != nil {
		return got, err
	}
	a, err := load(dir)
	if err != nil {
		return got, err
	}

	values, err := r.values(a, dir)
	if err != nil {
		return got, err
	}

	var failed error
	for i, s := range a.Runs.Steps {
		run, err := wanted(s.If, failed == nil, values)
		if err != nil {
			return got, err
		}
		if !run {
			continue
		}

		fmt.Fprintf(r.Out, "== %s\n", s.Name)
		if err := r.step(ctx, i, s, values, &got); err != nil {
			failed = errors.Join(failed, fmt.Errorf("step %q: %w", s.Name, err))
		}
	}

	got.Outputs = map[string]string{}
	for name, out := range a.Outputs {
		if got.Outputs[name], err = expand(out.Value, values); err != nil {
			return got, err
		}
	}

	text, err := os.ReadFile(r.summary())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return got, err
	}
	got.Summary = string(text)
	return got, failed
}

// values returns what expressions can name before the first step.
func (r runner) values(a action, dir string) (map[string]string, error) {
	values := map[string]string{
		"github.action_path": dir, "github.action_ref": r.Ref, "github.action_repository": r.Repository,
		"github.token": "a-token",
	}
	for name, in := range a.Inputs {
		values["inputs."+name] = in.Default
	}

	for name, value := range r.Inputs {
		if _, ok := a.Inputs[name]; !ok {
			return nil, fmt.Errorf("the action has no input %q", name)
		}
		values["inputs."+name] = value
	}

	return values, nil
}

// summary returns the file that steps write the job's summary to.
func (r runner) summary() string { return filepath.Join(r.Temp, "summary.md") }

// step runs one step, and adds its outputs to values.
func (r runner) step(ctx context.Context, i int, s step, values map[string]string, got *result) error {
	var err error
	if s.Uses != "" {
		used := step{Uses: s.Uses, With: map[string]string{}}
		for name, value := range s.With {
			if used.With[name], err = expand(value, values); err != nil {
				return err
			}
		}
		got.Uses = append(got.Uses, used)
		return nil
	}

	if s.Shell != "bash" {
		return fmt.Errorf("its shell is %q, not bash", s.Shell)
	}
	script, err := expand(s.Run, values)
	if err != nil {
		return err
	}

	file := filepath.Join(r.Temp, fmt.Sprintf("step-%d.sh", i))
	outputs := file + ".outputs"
	if err := errors.Join(os.WriteFile(file, []byte(script), 0o600), os.WriteFile(outputs, nil, 0o600)); err != nil {
		return err
	}

	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", file)
	cmd.Stdout, cmd.Stderr = r.Out, r.Out
	cmd.Env = append(slices.Clone(r.Environ), "GITHUB_OUTPUT="+outputs, "GITHUB_STEP_SUMMARY="+r.summary(),
		"GITHUB_ACTION_REPOSITORY="+r.Repository, "RUNNER_TEMP="+r.Temp)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value, err := expand(s.Env[name], values)
		if err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}

	if err := cmd.Run(); err != nil {
		return err
	}

	text, err := os.ReadFile(outputs)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && s.ID != "" {
			values["steps."+s.ID+".outputs."+name] = value
		}
	}

	return nil
}

var (
	expression = regexp.MustCompile(`\$\{\{\s*([^}]*?)\s*\}\}`)
	comparison = regexp.MustCompile(`^([\w.-]+) (==|!=) '([^']*)'$`)
	output     = regexp.MustCompile(`^steps\.[\w-]+\.outputs\.[\w-]+$`)
)

// expand replaces expressions by their values. A step's output that was not made is empty.
func expand(text string, values map[string]string) (string, error) {
	var wrong error
	text = expression.ReplaceAllStringFunc(text, func(match string) string {
		name := expression.FindStringSubmatch(match)[1]
		value, ok := values[name]
		if !ok && !output.MatchString(name) {
			wrong = errors.Join(wrong, fmt.Errorf("%q is none of the expressions that are known here", name))
		}
		return value
	})
	return text, wrong
}

// wanted says whether a step with that condition runs.
func wanted(condition string, success bool, values map[string]string) (bool, error) {
	switch condition {
	case "":
		return success, nil
	case "always()":
		return true, nil
	}

	parts := comparison.FindStringSubmatch(condition)
	if parts == nil {
		return false, fmt.Errorf("the condition %q is none of those that are known here", condition)
	}
	value, ok := values[parts[1]]
	if !ok {
		return false, fmt.Errorf("the condition %q names what is not known here", condition)
	}

	return success && (value == parts[3]) == (parts[2] == "=="), nil
}
