package invoke

import "testing"

func TestEnvironmentOfTheLastSetting(t *testing.T) {
	e := Env{Environ: []string{"A=1", "B=", "A=2=3", "noise"}}
	for key, want := range map[string]string{"A": "2=3", "B": "", "C": "", "noise": ""} {
		if got := e.Getenv(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}
