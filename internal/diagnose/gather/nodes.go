package gather

import (
	"context"
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/diagnose"
)

// Asker asks nodes about themselves.
type Asker struct {
	// Refused says why nodes are not asked, "" if they are.
	Refused string
	// Begin, if there is one, is called before the first node is asked.
	Begin func(context.Context) error
	Ask   func(ctx context.Context, node string) (diagnose.NodeFacts, error)
}

// atOnce is how many nodes are asked at the same time.
const atOnce = 8

// Nodes asks the picture's Windows nodes about themselves.
func Nodes(ctx context.Context, p *diagnose.Picture, asker Asker) {
	if asker.Refused != "" {
		p.Missing[diagnose.Facts] = diagnose.Lack{Why: asker.Refused}
		return
	}
	var wrong error
	if asker.Begin != nil {
		wrong = asker.Begin(ctx)
	}

	var all sync.WaitGroup
	var mu sync.Mutex
	room := make(chan struct{}, atOnce)
	for i := range p.Nodes {
		name := p.Nodes[i].Name
		if !p.Looked(name) {
			continue
		}

		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			facts, err := asker.Ask(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				wrong = errors.Join(wrong, err)
				return
			}

			p.Facts[name] = facts
		})
	}

	all.Wait()
	if wrong != nil {
		miss(p, diagnose.Facts, wrong)
	}
}

// Later asks for the pods once more if a node has the folder of a pod that the picture does not have: the pod may have
// been made while the nodes were asked.
func Later(ctx context.Context, client kubeclient.Interface, p *diagnose.Picture) {
	known := map[string]bool{}
	for i := range p.Pods {
		for _, name := range diagnose.FolderNames(&p.Pods[i]) {
			known[name] = true
		}
	}

	news := false
	for _, facts := range p.Facts {
		news = news || slices.ContainsFunc(facts.PodFolders, func(folder string) bool { return !known[folder] })
	}
	if !news {
		return
	}

	pods, err := list(ctx, func(ctx context.Context, o metav1.ListOptions) ([]corev1.Pod, string, error) {
		l, err := client.CoreV1().Pods("").List(ctx, o)
		return l.Items, l.Continue, err
	})
	if err != nil { // then nothing can be said of the folders
		miss(p, diagnose.Pods, err)
		for name, facts := range p.Facts {
			facts.PodFolders = nil
			p.Facts[name] = facts
		}
	}

	for i := range pods {
		p.Later = append(p.Later, diagnose.FolderNames(&pods[i])...)
	}
}
