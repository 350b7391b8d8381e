package gather

import (
	"context"
	"errors"
	"sync"

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
		p.Missing[diagnose.Facts] = asker.Refused
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
		p.Missing[diagnose.Facts] = wrong.Error()
	}
}
