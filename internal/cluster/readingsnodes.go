package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mullion.dev/mullion/internal/cluster/export"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/show"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// nodeRequests returns the requests about nodes and what is on them.
func (r viewTable) nodeRequests() []view.Request {
	const short = 20 * time.Second
	return []view.Request{
		{
			Path:   "hns/{node}",
			What:   "the objects of the HNS of a Windows node",
			Within: short,
			Most:   64 * mebibyte,
			AtOnce: 4,
			Answer: view.JSON(r.hnsObjects),
		},
		{
			Path:   "hns/{node}/diagnosis",
			What:   "how the network of a Windows node differs from what its HNS plans",
			Within: short,
			Most:   64 * mebibyte,
			AtOnce: 2,
			Answer: view.JSON(r.hnsDiagnosis),
		},
		{
			Path:   "hns/{node}/trace",
			What:   "the calls that programs make of the HNS of a Windows node, as they come",
			Within: stream,
			Most:   mostOfLogs,
			AtOnce: 8,
			Answer: r.hnsTrace,
		},
		{
			Path:   "proxy/{node}/{page}",
			What:   "the page healthz or metrics of a Windows node's kube-proxy",
			Within: short,
			Most:   8 * mebibyte,
			AtOnce: 4,
			Answer: r.proxyPage,
		},
		{
			Path:   "disks/{node}",
			What:   "the data disks of a Windows node",
			Within: short,
			Most:   16 * mebibyte,
			AtOnce: 2,
			Answer: view.JSON(r.disks),
		},
		{
			Path:   "images",
			What:   "the images in the stores of the nodes, without the values of their environment",
			Query:  []string{"node"},
			Within: time.Minute,
			Most:   64 * mebibyte,
			AtOnce: 2,
			Answer: view.JSON(r.images),
		},
		{
			Path:   "explained",
			What:   "what Wine said of the programs of a pod",
			Query:  []string{"namespace", "pod"},
			Within: short,
			Most:   64 * mebibyte,
			AtOnce: 2,
			Answer: view.JSON(r.explained),
		},
		{
			Path:   "ask/{node}/{question}",
			What:   "what a Windows node says of itself: the fixed programs of `mullion diagnose` and `mullion collect`, which only read",
			Within: 4 * time.Minute,
			Most:   64 * mebibyte,
			AtOnce: 4,
			Answer: r.ask,
		},
		{
			Path:   "files",
			What:   "what `mullion export logs` gathers of this machine, without tokens, as a tar archive",
			Within: 10 * time.Minute,
			Most:   mostOfLogs,
			AtOnce: 1,
			Answer: r.files,
		},
	}
}

func (r viewTable) hnsObjects(ctx context.Context, ask view.Ask) (show.Objects, error) {
	client, err := HNS(ctx, r.paths, ask.Word("node"))
	if err != nil {
		return show.Objects{}, err
	}
	o, err := show.Read(ctx, client)
	return o, errors.Join(err, client.Close())
}

func (r viewTable) hnsDiagnosis(ctx context.Context, ask view.Ask) (admin.Diagnosis, error) {
	agent, err := Agent(r.paths, ask.Word("node"))
	if err != nil {
		return admin.Diagnosis{}, err
	}
	return agent.Diagnose(ctx)
}

func (r viewTable) hnsTrace(ctx context.Context, ask view.Ask, to io.Writer) error {
	agent, err := Agent(r.paths, ask.Word("node"))
	if err != nil {
		return err
	}
	lines := json.NewEncoder(to)
	return agent.Trace(ctx, func(c hns.TracedCall) error { return lines.Encode(c) })
}

func (r viewTable) proxyPage(ctx context.Context, ask view.Ask, to io.Writer) error {
	page := "/" + ask.Word("page")
	if !slices.Contains([]string{"/healthz", "/metrics"}, page) {
		return &view.KindError{Kind: view.NotFound, Err: errors.New("kube-proxy has the pages healthz and metrics")}
	}
	text, err := ProxyEndpoint(ctx, r.paths, ask.Word("node"), page)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	return err
}

func (r viewTable) disks(ctx context.Context, ask view.Ask) (hostdisk.Answer, error) {
	return Disks(ctx, r.paths, ask.Word("node"), hostdisk.Request{Do: hostdisk.Get})
}

func (r viewTable) images(ctx context.Context, ask view.Ask) ([]image.Info, error) {
	list, err := ListImages(ctx, r.paths, ask.Option("node"))
	for i := range list { // people put passwords into these
		list[i].Config.Env = nil
		list[i].Spec.Config.Env = nil
		list[i].Spec.History = nil
	}
	return list, err
}

// Explained is what Wine said of the programs of a pod's containers on a node.
type Explained struct {
	Node       string            `json:"node"`
	Containers []cri.Explanation `json:"containers"`
}

// ExplainPod reads what was kept of the containers of a pod on this machine's nodes; it is empty where there is no such
// pod.
func ExplainPod(paths layout.Paths, namespace, pod string) ([]Explained, error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return nil, err
	}

	var out []Explained
	for _, n := range c.Nodes {
		containers, err := cri.Explained(agentconfig.CRIStateDir(paths.Node(n.Name)), namespace, pod)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if len(containers) > 0 {
			out = append(out, Explained{Node: n.Name, Containers: containers})
		}
	}

	return out, nil
}

func (r viewTable) explained(_ context.Context, ask view.Ask) ([]Explained, error) {
	return ExplainPod(r.paths, ask.Option("namespace"), ask.Option("pod"))
}

// mostOfAnswer is how much of what a program of a node prints is kept, in bytes.
const mostOfAnswer = 16 * mebibyte

// limited keeps the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	most int
}

// Write takes everything, and keeps what there is room for.
func (l *limited) Write(b []byte) (int, error) {
	l.Buffer.Write(b[:min(len(b), max(0, l.most-l.Len()))])
	return len(b), nil
}

// AskHost runs a program on the host of a Windows node, and returns what it printed.
func AskHost(ctx context.Context, paths layout.Paths, node string, command []string) (string, error) {
	h, err := LoadHost(paths, node)
	if err != nil {
		return "", err
	}
	child := h.Command(ctx, wine.RunProgram, append([]string{"--"}, command...)...)
	text := &limited{most: mostOfAnswer}
	child.Stdout, child.Stderr = text, text
	if err := h.Run(ctx, child); err != nil {
		return "", err
	}
	return text.String(), nil
}

// ask asks a node one of the questions that there are. No word of the client is in what the node runs.
func (r viewTable) ask(ctx context.Context, ask view.Ask, to io.Writer) error {
	command, known := r.questions[ask.Word("question")]
	if !known {
		return &view.KindError{
			Kind: view.NotFound,
			Err:  fmt.Errorf("a node is asked one of %q", slices.Sorted(maps.Keys(r.questions))),
		}
	}

	text, err := AskHost(ctx, r.paths, ask.Word("node"), command)
	if err != nil {
		return err
	}
	lines := export.NewCleaner(to)
	_, err = io.WriteString(lines, text)
	return errors.Join(err, lines.Flush())
}

// files gathers what there is in files into a folder of the data folder, sends it and removes it.
func (r viewTable) files(ctx context.Context, _ view.Ask, to io.Writer) error {
	c, err := r.paths.LoadSpec()
	if err != nil {
		return err
	}
	work := r.paths.ViewWork()
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if _, err := export.Gather(ctx, work, export.Options{Paths: &r.paths, Cluster: c}); err != nil {
		return err
	}

	files := tar.NewWriter(to)
	err = filepath.WalkDir(work, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		inside, err := filepath.Rel(work, name)
		if err != nil {
			return err
		}
		return export.AddFile(files, name, filepath.ToSlash(inside))
	})

	return errors.Join(err, files.Close())
}
