package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
)

// pageSize is how many objects are asked for at once: it bounds the memory of a check, in the API server too.
const pageSize = 250

// clusterPaths returns the API's lists that are read: first the objects to which rules refer, then the workloads.
func clusterPaths() []string {
	return []string{
		"/apis/node.k8s.io/v1/runtimeclasses", "/apis/storage.k8s.io/v1/storageclasses",
		"/api/v1/persistentvolumeclaims", "/api/v1/services",
		"/apis/apps/v1/deployments", "/apis/apps/v1/statefulsets", "/apis/apps/v1/daemonsets",
		"/apis/apps/v1/replicasets",
		"/api/v1/replicationcontrollers", "/apis/batch/v1/cronjobs", "/apis/batch/v1/jobs", "/api/v1/podtemplates",
		"/api/v1/pods",
	}
}

// clusterList is a page of a list, as the API server answers.
type clusterList struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// cluster checks the objects of the cluster of kubectl's current context. It reads them with kubectl, which knows every
// way to log in to a cluster. Objects made by a controller are left out, because their owners are checked.
func (r *run) cluster(ctx context.Context, kubectl []string) error {
	for _, path := range clusterPaths() {
		name := "cluster:" + path[strings.LastIndex(path, "/")+1:]
		for next := ""; ; {
			page, err := getPage(ctx, kubectl, path, next)
			if err != nil {
				fault := manifest.Fault{
					Pos:     manifest.Pos{Line: 1, Column: 1},
					Fatal:   true,
					Message: err.Error(),
					Remedy:  "see whether `kubectl get --raw " + path + "` works",
				}
				if err := r.emit(check.Result{File: name, Faults: []manifest.Fault{fault}}); err != nil {
					return err
				}

				break
			}

			next = page.Metadata.Continue
			text, err := page.own()
			if err == nil && len(text) > 0 {
				err = r.checker.Run(ctx, name, bytes.NewReader(text), r.emit)
			}
			if err != nil {
				return fmt.Errorf("check %s: %w", name, err)
			}

			if next == "" {
				break
			}
		}
	}

	return nil
}

// getPage asks for one page.
func getPage(ctx context.Context, kubectl []string, path, next string) (clusterList, error) {
	var page clusterList
	query := fmt.Sprintf("%s?limit=%d", path, pageSize)
	if next != "" {
		query += "&continue=" + url.QueryEscape(next)
	}

	cmd := exec.CommandContext(ctx, kubectl[0], append(kubectl[1:len(kubectl):len(kubectl)], "get", "--raw", query)...)
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return page, fmt.Errorf("list %s: %s", path, strings.TrimSpace(told.String()))
	}

	if err != nil {
		return page, fmt.Errorf("list %s: run kubectl: %w", path, err)
	}
	if err := json.Unmarshal(out, &page); err != nil {
		return page, fmt.Errorf("list %s: %w", path, err)
	}
	return page, nil
}

// own returns the page's objects that no controller made, one JSON document after the other, with one field on each
// line so that findings show the field.
func (l clusterList) own() ([]byte, error) {
	var text bytes.Buffer
	for _, item := range l.Items {
		var head struct {
			Metadata struct {
				OwnerReferences []struct {
					Controller bool `json:"controller"`
				} `json:"ownerReferences"`
			} `json:"metadata"`
		}

		fields := map[string]json.RawMessage{}
		if err := errors.Join(json.Unmarshal(item, &head), json.Unmarshal(item, &fields)); err != nil {
			return nil, err
		}

		owned := false
		for _, o := range head.Metadata.OwnerReferences {
			owned = owned || o.Controller
		}
		if owned {
			continue
		}

		// Objects in a typed list have no apiVersion and kind. The status says nothing about what was asked for.
		fields["apiVersion"], _ = json.Marshal(l.APIVersion)
		fields["kind"], _ = json.Marshal(strings.TrimSuffix(l.Kind, "List"))
		delete(fields, "status")
		one, err := json.MarshalIndent(fields, "", "  ")
		if err != nil {
			return nil, err
		}
		text.Write(append(one, '\n'))
	}

	return text.Bytes(), nil
}
