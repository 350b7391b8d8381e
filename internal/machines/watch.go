package machines

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// resync is how often told is called again although nothing changed, to repair changes by others.
const resync = time.Minute

// Watch calls told with the machines of the cluster, in no order, now and whenever they change, until run is over. It
// returns after the first call, or with an error if start is over before. done is closed when the last call of told has
// ended.
func Watch(start, run context.Context, client kubernetes.Interface,
	told func(context.Context, []Machine),
) (done <-chan struct{}, err error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithNamespace(Namespace))
	claims := factory.Core().V1().ConfigMaps().Informer()
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
	factory.Start(run.Done())
	if !cache.WaitForCacheSync(start.Done(), claims.HasSynced) {
		return nil, errors.Join(errors.New("read the cluster's machines: the list did not arrive"), start.Err())
	}
	list := func() []Machine {
		var all []Machine
		for _, object := range claims.GetStore().List() {
			if c, ok := object.(*corev1.ConfigMap); ok {
				if m, ok := read(c); ok {
					all = append(all, m)
				}
			}
		}
		return all
	}
	told(run, list())
	return atEach(run, wake, factory, func() { told(run, list()) }), nil
}

// atEach calls do whenever it is woken, until run is done; then it shuts the factory down and closes what it returns.
func atEach(run context.Context, wake <-chan struct{}, factory informers.SharedInformerFactory,
	do func(),
) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer factory.Shutdown()
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
