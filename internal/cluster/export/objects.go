package export

import (
	"context"
	"fmt"
	"os"
	"path"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// objects writes what the API server has of nodes, pods and what happened to them, without what may be secret and
// without what nobody reads, and returns what could not be had.
func objects(ctx context.Context, to *os.Root, client kubeclient.Interface) (missing []error) {
	all := metav1.ListOptions{}
	without := newStripper()
	kept := map[string]any{}
	for name, list := range map[string]func() (runtime.Object, error){
		"nodes":       func() (runtime.Object, error) { return client.CoreV1().Nodes().List(ctx, all) },
		"pods":        func() (runtime.Object, error) { return client.CoreV1().Pods("").List(ctx, all) },
		"events":      func() (runtime.Object, error) { return client.CoreV1().Events("").List(ctx, all) },
		"services":    func() (runtime.Object, error) { return client.CoreV1().Services("").List(ctx, all) },
		"deployments": func() (runtime.Object, error) { return client.AppsV1().Deployments("").List(ctx, all) },
		"daemonsets":  func() (runtime.Object, error) { return client.AppsV1().DaemonSets("").List(ctx, all) },
		"statefulsets": func() (runtime.Object, error) {
			return client.AppsV1().StatefulSets("").List(ctx, all)
		},
		"endpointslices": func() (runtime.Object, error) {
			return client.DiscoveryV1().EndpointSlices("").List(ctx, all)
		},
	} {
		object, err := list()
		var items []any
		if err == nil {
			items, err = itemsOf(object)
		}
		if err != nil {
			missing = append(missing, fmt.Errorf("%s of the API server: %w", name, err))
			continue
		}

		kept[name] = without.strip("items", items)
	}

	for name, items := range kept { // what was removed anywhere is in no message
		if err := writeItems(to, path.Join("objects", name+".yaml"), without.messages(items)); err != nil {
			missing = append(missing, fmt.Errorf("%s of the API server: %w", name, err))
		}
	}

	return missing
}

// itemsOf returns the objects of a list, as data.
func itemsOf(list runtime.Object) ([]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
	if err != nil {
		return nil, err
	}
	items, _ := fields["items"].([]any)
	return items, nil
}

func writeItems(to *os.Root, name string, items any) error {
	text, err := yaml.Marshal(map[string]any{"items": items})
	if err != nil {
		return err
	}
	return write(to, name, clean(text))
}
