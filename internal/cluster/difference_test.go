package cluster

import (
	"encoding/json"
	"testing"
)

func TestDiffer(t *testing.T) {
	for _, tt := range []struct{ name, have, want, text string }{
		{"the same", `{"a": [1, {"b": "x"}]}`, `{"a": [1, {"b": "x"}]}`, ""},
		{"a field", `{"a": [{"b": "x"}]}`, `{"a": [{"b": "y"}]}`, "a[0].b is x, and now y"},
		{"left out", `{"a": {"b": "x"}}`, `{"a": {}}`, "a.b is x, and now left out"},
		{"new", `{}`, `{"a": {"b": true}}`, `a is left out, and now {"b":true}`},
		{"empty", `{"a": ""}`, `{"a": "x"}`, `a is "", and now x`},
		{"fewer", `{"a": [1, 2]}`, `{"a": [1]}`, "a has 2 entries, and now 1"},
		{"a password", `{"proxy": {"https": "http://a:b@c"}}`, `{"proxy": {}}`, "proxy.https differs"},
		{"another kind", `{"a": [1]}`, `{"a": {"b": 1}}`, `a is [1], and now {"b":1}`},
		{
			"many", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`, `{"a":2,"b":2,"c":2,"d":2,"e":2,"f":2,"g":2}`,
			"a is 1, and now 2; b is 1, and now 2; c is 1, and now 2; d is 1, and now 2; e is 1, and now 2; and 2 more",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := listed(differ("", decode(t, tt.have), decode(t, tt.want))); got != tt.text {
				t.Errorf("got  %q\nwant %q", got, tt.text)
			}
		})
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
