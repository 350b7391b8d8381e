package cri

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/kubelet/pkg/types"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/explain"
)

// Explanation is what Wine said of the programs of a container.
type Explanation struct {
	ID, Name string
	Met      []explain.Met
	More     int
	// Off says that the pod did not ask for it, or is of a kind of which it is not kept.
	Off bool
}

// Explained reads from a server's StateDir what Wine said of the containers of a pod, oldest first. The server may run
// meanwhile. The error is os.ErrNotExist if there is no such folder.
func Explained(stateDir, namespace, pod string) ([]Explanation, error) {
	all, err := store.Peek[store.Container](filepath.Join(stateDir, "containers"))
	if err != nil {
		return nil, err
	}
	sandboxes, err := store.Peek[store.Sandbox](filepath.Join(stateDir, "sandboxes"))
	if err != nil {
		return nil, err
	}

	slices.SortFunc(all, func(a, b store.Container) int { return a.CreatedAt.Compare(b.CreatedAt) })
	var out []Explanation
	for _, c := range all {
		labels := c.Config.GetLabels()
		if types.GetPodName(labels) != pod || types.GetPodNamespace(labels) != namespace {
			continue
		}

		file := ""
		for _, sb := range sandboxes {
			if sb.ID == c.SandboxID && asksToExplain(sb) {
				file = choose(nil, sb).explanation(stateDir, c.ID)
			}
		}

		e := Explanation{
			ID:   c.ID,
			Name: c.Config.GetMetadata().GetName(),
			Off:  file == "",
		}
		if !e.Off {
			if e.Met, e.More, err = explain.Read(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}

		out = append(out, e)
	}

	return out, nil
}

// asksToExplain reports whether a pod asks that what Wine says of its containers is kept.
func asksToExplain(sb store.Sandbox) bool {
	return sb.Config.GetAnnotations()[explain.Annotation] == "true"
}
