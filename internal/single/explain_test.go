package single

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/runtime/cri"
)

// TestExplainedFields says of every field what becomes of it, and nothing of those without a value.
func TestExplainedFields(t *testing.T) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(`{"User": "ContainerUser", "WorkingDir": "C:\\app", "Entrypoint": ["app.exe"],
		"Cmd": ["-v"], "Env": ["A=1"], "Volumes": {"C:\\data": {}}, "ExposedPorts": {"80/tcp": {}}, "Labels": {"a": "b"},
		"StopSignal": "SIGTERM", "Healthcheck": {"Test": ["CMD", "x"]}, "Shell": ["cmd"], "OnBuild": null, "ArgsEscaped": false,
		"Hostname": "", "AttachStdin": false, "Made": [ ], "Odd": 1}`), &fields); err != nil {
		t.Fatal(err)
	}

	for name, tt := range map[string]struct {
		ask  Run
		used string
	}{
		"as-it-is":  {Run{}, "Cmd Entrypoint Env Healthcheck User Volumes WorkingDir"},
		"arguments": {Run{Args: []string{"-q"}}, "Entrypoint Env Healthcheck User Volumes WorkingDir"},
		"another-name": {Run{
			Health:     NoHealth(),
			Entrypoint: []string{"cmd"},
			User:       "x",
			Dir:        "y",
		}, "Env Volumes"},
	} {
		t.Run(name, func(t *testing.T) {
			used, all := "", 0
			for _, f := range explainedFields(fields, tt.ask, cri.Inherited{}) {
				all++
				if f.How == "" {
					t.Errorf("nothing is said of %s", f.Name)
				}
				if f.Used {
					used += f.Name + " "
				}
			}

			if diff := cmp.Diff(tt.used+" ", used); diff != "" || all != 12 {
				t.Errorf("%d fields: %s", all, diff)
			}
		})
	}
}
