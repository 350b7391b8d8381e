package machines

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// resync is how often told is called again although nothing changed, to repair changes by others.
const resync = time.Minute

// Watch calls told with the machines of the cluster, in no order, now and whenever they change, until run is over. It
// returns after the first call, or with an error if start is over before. done is closed when the last call of told has
// ended.
func Watch(start, run context.Context, client kubeclient.Interface,
	told func(context.Context, []Machine),
) (done <-chan struct{}, err error) {
	claims := client.CoreV1().ConfigMaps(Namespace).Informer(resync)
	wake := make(chan struct{}, 1)
	changed := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}

	if _, err := claims.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(_, _ any) { changed() },
		DeleteFunc: func(any) { changed() },
	}); err != nil {
		return nil, err
	}

	watching := started(run, claims)
	if !cache.WaitForCacheSync(start.Done(), claims.HasSynced) {
		return nil, errors.Join(errors.New("read the cluster's machines: the list did not arrive"), start.Err())
	}

	list := func() []Machine {
		var all []Machine
		for _, c := range kubeclient.Stored[*corev1.ConfigMap](claims.GetStore()) {
			if m, ok := read(c); ok {
				all = append(all, m)
			}
		}
		return all
	}
	told(run, list())

	return atEach(run, wake, watching, func() { told(run, list()) }), nil
}

// started runs an informer until run is done; what it returns waits for its end.
func started(run context.Context, informer cache.SharedIndexInformer) *sync.WaitGroup {
	var watching sync.WaitGroup
	watching.Go(func() { informer.RunWithContext(run) })
	return &watching
}

// atEach calls do whenever it is woken, until run is done; then it waits for the informer and closes what it returns.
func atEach(run context.Context, wake <-chan struct{}, watching *sync.WaitGroup, do func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer watching.Wait()
		for {
			select {
			case <-run.Done():
				return
			case <-wake:
				do()
			}
		}
	}()

	return ended
}
