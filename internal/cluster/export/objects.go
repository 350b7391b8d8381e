package export

import (
	"context"
	"fmt"
	"os"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// objects writes what the API server has of nodes, pods and what happened to them, and returns what could not be had.
func objects(ctx context.Context, to *os.Root, client kubeclient.Interface) (missing []error) {
	all := metav1.ListOptions{}
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
		if err == nil {
			err = writeObjects(to, path.Join("objects", name+".yaml"), object)
		}
		if err != nil {
			missing = append(missing, fmt.Errorf("%s of the API server: %w", name, err))
		}
	}
	return missing
}

// writeObjects writes a list without what may be secret and without what nobody reads.
func writeObjects(to *os.Root, name string, list runtime.Object) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
	if err != nil {
		return err
	}
	items, _ := fields["items"].([]any)
	for _, item := range items {
		strip(item)
	}
	text, err := yaml.Marshal(map[string]any{"items": items})
	if err != nil {
		return err
	}
	return write(to, name, clean(text))
}

// strip removes the values of environment variables, wherever a pod's template is, the copy of the manifest that
// kubectl keeps, and the record of who manages which field.
func strip(value any) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			strip(each)
		}
	case map[string]any:
		delete(v, "managedFields")
		if notes, ok := v["annotations"].(map[string]any); ok {
			delete(notes, corev1.LastAppliedConfigAnnotation)
		}
		if env, ok := v["env"].([]any); ok {
			for _, each := range env {
				if variable, ok := each.(map[string]any); ok && variable["value"] != nil {
					variable["value"] = "<value removed>"
				}
			}
		}
		for _, each := range v {
			strip(each)
		}
	}
}
