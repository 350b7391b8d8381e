package service_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/hostservices/service"
)

type kept struct {
	Version int      `json:"version"`
	Things  []string `json:"things,omitempty"`
}

func TestFile(t *testing.T) {
	file := service.File[kept]{
		Path:    filepath.Join(t.TempDir(), "things.json"),
		What:    "the things of the host",
		Version: 2,
	}
	if got, err := file.Load(kept{Version: 2}); err != nil || got.Version != 2 || len(got.Things) > 0 {
		t.Errorf("a host without a file has %+v, %v", got, err)
	}

	if err := file.Save(kept{Version: 2, Things: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := file.Load(kept{}); err != nil || len(got.Things) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if info, err := os.Stat(file.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	for text, want := range map[string]string{
		`{"version":3,"things":["b"]}`: "of version 3",
		`{"things":["b"]}`:             "of version 0",
		`{"version":2,"things":"b"}`:   "cannot unmarshal",
		`{"version":2,"thi`:            "unexpected end",
		"":                             "unexpected end",
	} {
		if err := os.WriteFile(file.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := file.Load(kept{Version: 2})
		has := func(part string) bool { return err != nil && strings.Contains(err.Error(), part) }
		if !has(want) || !has("the things of the host") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}

		if len(got.Things) > 0 {
			t.Errorf("%s: %+v is taken from it", text, got)
		}
	}
}
