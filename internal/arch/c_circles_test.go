package arch_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestCHasNoCircles holds that the sources of a folder stand in an order: each calls only what stands below it, and no
// headers include each other.
func TestCHasNoCircles(t *testing.T) {
	edges := 0
	for _, folder := range cFolders(t) {
		owner := map[string]string{}
		for stem, unit := range folder.units {
			for name := range unit.defines {
				owner[name] = stem
			}
		}

		calls := map[string]map[string]string{} // to whom, and by which name
		includes := map[string]map[string]string{}
		for stem, unit := range folder.units {
			calls[stem], includes[stem] = map[string]string{}, map[string]string{}
			for name := range unit.uses {
				if to := owner[name]; to != "" && to != stem {
					calls[stem][to] = name
					edges++
				}
			}

			for to := range unit.includes {
				if folder.units[to] != nil {
					includes[stem][to] = to + ".h"
				}
			}
		}

		for what, graph := range map[string]map[string]map[string]string{"call": calls, "include": includes} {
			if circle := findCircle(graph); circle != "" {
				t.Errorf("guest/c/%s: files %s each other: %s", folder.name, what, circle)
			}
		}
	}

	if edges < 300 {
		t.Errorf("only %d calls between files were seen", edges)
	}
}

// findCircle describes one circle of the graph, or is empty.
func findCircle(graph map[string]map[string]string) string {
	done := map[string]bool{}
	var way []string
	var visit func(node string) string

	visit = func(node string) string {
		if at := slices.Index(way, node); at >= 0 {
			var text strings.Builder
			for i, from := range way[at:] {
				to := append(way[at:], node)[i+1]
				text.WriteString(from + " -> " + to + " (" + graph[from][to] + "), ")
			}
			return strings.TrimSuffix(text.String(), ", ")
		}

		if done[node] {
			return ""
		}
		done[node] = true

		way = append(way, node)
		defer func() { way = way[:len(way)-1] }()
		for _, to := range slices.Sorted(maps.Keys(graph[node])) {
			if circle := visit(to); circle != "" {
				return circle
			}
		}

		return ""
	}

	for _, node := range slices.Sorted(maps.Keys(graph)) {
		if circle := visit(node); circle != "" {
			return circle
		}
	}

	return ""
}
