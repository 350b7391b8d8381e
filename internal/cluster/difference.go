package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/spec"
)

// mostDifferences is how many differing fields a message names.
const mostDifferences = 5

// differences names the fields in which a specification differs from the one that a cluster has, as they are called in
// cluster.yaml: `nodes[1].version is ltsc2019, and now ltsc2025`. It is empty if they are the same.
func differences(have, want spec.Cluster) ([]string, error) {
	var trees [2]any
	for i, c := range []spec.Cluster{have, want} {
		b, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, &trees[i]); err != nil {
			return nil, err
		}
	}
	return differ("", trees[0], trees[1]), nil
}

// differ compares two values of JSON at a path.
func differ(path string, have, want any) []string {
	var out []string
	switch h := have.(type) {
	case map[string]any:
		w, ok := want.(map[string]any)
		if !ok {
			break
		}
		both := maps.Clone(h)
		maps.Copy(both, w)
		for _, key := range slices.Sorted(maps.Keys(both)) {
			out = append(out, differ(strings.TrimPrefix(path+"."+key, "."), h[key], w[key])...)
		}

		return out

	case []any:
		w, ok := want.([]any)
		if !ok {
			break
		}
		if len(h) != len(w) {
			return []string{fmt.Sprintf("%s has %d entries, and now %d", path, len(h), len(w))}
		}

		for i := range h {
			out = append(out, differ(fmt.Sprintf("%s[%d]", path, i), h[i], w[i])...)
		}

		return out
	}

	if reflect.DeepEqual(have, want) {
		return nil
	}
	if part, _, _ := strings.Cut(path, "."); slices.Contains([]string{"proxy", "join", "registries"}, part) {
		return []string{path + " differs"} // its value may hold a password
	}
	return []string{fmt.Sprintf("%s is %s, and now %s", path, brief(have), brief(want))}
}

// brief returns a value for a message.
func brief(v any) string {
	if v == nil {
		return "left out"
	}
	if s, ok := v.(string); ok && s != "" {
		return s
	}
	b, _ := json.Marshal(v) // it was JSON
	return string(b)
}

// listed joins the first of the differences.
func listed(all []string) string {
	if rest := len(all) - mostDifferences; rest > 0 {
		all = append(slices.Clone(all[:mostDifferences]), fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(all, "; ")
}
