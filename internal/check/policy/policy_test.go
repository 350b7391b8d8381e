package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"gotest.tools/v3/golden"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/policy"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

func TestGolden(t *testing.T) {
	var got, again bytes.Buffer
	for _, b := range []*bytes.Buffer{&got, &again} {
		if err := policy.Write(b, rules.All(), 36); err != nil {
			t.Fatal(err)
		}
	}

	if !bytes.Equal(got.Bytes(), again.Bytes()) {
		t.Error("two runs print two texts")
	}

	golden.Assert(t, got.String(), "policies.yaml")
	for doc := range strings.SplitSeq(got.String(), "---\n") {
		var o any
		if err := yaml.UnmarshalStrict([]byte(doc), &o); err != nil {
			t.Errorf("%v:\n%s", err, doc)
		}
	}
}

// TestSameVerdict: on every fixture of the rules, each rule's CEL form says of the pod what the rule itself does.
func TestSameVerdict(t *testing.T) {
	files, err := filepath.Glob("../rules/testdata/*/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}

	found, none := 0, 0
	for _, rule := range rules.All() {
		expr, ok := rule.CEL("object")
		if !ok || rule.Unplaced || len(rule.Systems) > 0 {
			continue
		}
		ast, issues := env.Compile(expr)
		if issues.Err() != nil {
			t.Errorf("%s: %v", rule.ID, issues.Err())
			continue
		}

		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		rule.Since = 0
		rule.Until = 0
		rule.SinceBuild = 0
		rule.UntilBuild = 0
		c, err := check.New([]check.Rule{rule}, check.Options{Kubernetes: 37, Windows: winver.All()})
		if err != nil {
			t.Fatal(err)
		}

		for _, file := range files {
			for _, pod := range pods(t, file) {
				text, err := json.Marshal(pod)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				if err := c.Run(t.Context(), file, bytes.NewReader(text),
					func(r check.Result) error { n += len(r.Findings); return nil }); err != nil {
					t.Fatal(err)
				}

				got, _, err := program.Eval(map[string]any{"object": pod})
				if err != nil || got.Value() != (n > 0) {
					t.Errorf("%s on %s: CEL says %v, %v, the rule has %d findings", rule.ID, file, got, err, n)
				}
				if n > 0 {
					found++
				} else {
					none++
				}
			}
		}
	}

	t.Logf("same verdict on %d pods with a finding and %d without", found, none)
	if found < 30 {
		t.Errorf("only %d findings: the fixtures do not try the rules", found)
	}
}

// pods returns a file's pods as the API server hands them to CEL: without nulls, whole numbers as integers, all for
// Windows.
func pods(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	var out []map[string]any
	for doc := range strings.SplitSeq(string(text), "\n---") {
		var o map[string]any
		j, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		dec := json.NewDecoder(bytes.NewReader(j))
		dec.UseNumber()
		if err := dec.Decode(&o); err != nil || o["kind"] != "Pod" {
			continue
		}

		o = clean(o).(map[string]any)
		spec, ok := o["spec"].(map[string]any)
		if !ok {
			continue
		}
		delete(spec, "runtimeClassName") // would wait for its RuntimeClass
		if spec["os"] == nil && spec["affinity"] == nil {
			spec["os"] = map[string]any{"name": "windows"}
		}

		if s, _ := spec["os"].(map[string]any); s["name"] == "windows" {
			out = append(out, o)
		}
	}

	return out
}

func clean(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x == nil {
				delete(v, k)
			} else {
				v[k] = clean(x)
			}
		}

	case []any:
		for i, x := range v {
			v[i] = clean(x)
		}

	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}

	return v
}
