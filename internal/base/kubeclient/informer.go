package kubeclient

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ListWatch lists and follows the objects, for an informer. narrow may restrict which; nil: all.
func (r Resource[T, L]) ListWatch(narrow func(*metav1.ListOptions)) cache.ListerWatcher {
	restrict := func(o metav1.ListOptions) metav1.ListOptions {
		if narrow != nil {
			narrow(&o)
		}
		return o
	}

	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return r.List(ctx, restrict(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return r.Watch(ctx, restrict(o))
		},
	}, r.via)
}

// Informer follows the objects, once it runs. Handlers are called again each resync; 0: they are not.
func (r Resource[T, L]) Informer(resync time.Duration) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(r.ListWatch(nil), fresh[T](), resync,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// Stored returns the objects of type T in an informer's store.
func Stored[T Object](store cache.Store) []T {
	var all []T
	for _, one := range store.List() {
		if object, ok := one.(T); ok {
			all = append(all, object)
		}
	}
	return all
}
