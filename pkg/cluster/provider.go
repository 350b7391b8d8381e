package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// DefaultName is the name of a cluster that is given none.
const DefaultName = "mullion"

// DefaultFolder is where the data of the clusters of this package is, each in a folder of its name. It is not that of
// `mullion up`, whose cluster is no one's here.
const DefaultFolder = "/var/lib/mullion-clusters"

// Provider makes clusters and finds them.
type Provider struct {
	program, folder string
	log             func(format string, args ...any)
	root            bool // this process is root's
}

// ProviderOption is an option of NewProvider.
type ProviderOption func(*Provider)

// ProviderWithLogger has the provider tell what it does and what takes long, as testing.T.Logf does.
func ProviderWithLogger(log func(format string, args ...any)) ProviderOption {
	return func(p *Provider) { p.log = log }
}

// ProviderWithProgram names the program mullion: a path, or a name that is looked for in PATH.
func ProviderWithProgram(program string) ProviderOption {
	return func(p *Provider) { p.program = program }
}

// ProviderWithFolder names the folder of the clusters' data, an absolute path.
func ProviderWithFolder(folder string) ProviderOption {
	return func(p *Provider) { p.folder = folder }
}

// NewProvider returns a provider.
func NewProvider(options ...ProviderOption) *Provider {
	p := &Provider{
		program: "mullion",
		folder:  DefaultFolder,
		log:     func(string, ...any) {},
		root:    os.Geteuid() == 0,
	}
	for _, o := range options {
		o(p)
	}
	return p
}

// nameForm is what a cluster's name is: that of its folder, and of its context in a kubeconfig.
var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$`)

// data returns the folder of a cluster's data, and the name that it is meant by.
func (p *Provider) data(name string) (folder, full string, err error) {
	if name == "" {
		name = DefaultName
	}
	if !nameForm.MatchString(name) {
		return "", "", fmt.Errorf("%q is no name of a cluster: at most 42 of a-z, 0-9 and -, which stands in the middle", name)
	}
	return filepath.Join(p.folder, name), name, nil
}

// CreateOption is an option of Create.
type CreateOption func(*creation)

// Create makes a cluster and waits until its nodes are ready. Without a configuration it has a Linux node and a Windows
// node, and subnets that no other cluster of this machine has. A cluster that is not made whole is removed again,
// unless CreateWithRetain is given.
func (p *Provider) Create(name string, options ...CreateOption) error {
	data, name, err := p.data(name)
	if err != nil {
		return err
	}
	c := newCreation(name)
	for _, o := range options {
		o(c)
	}

	if err := c.check(); err != nil {
		return fmt.Errorf("create cluster %q: %w", name, err)
	}
	if exists, err := p.exists(name); err != nil || exists {
		if err == nil {
			err = errors.New("there already is a cluster of that name")
		}
		return fmt.Errorf("create cluster %q: %w", name, err)
	}

	if err := p.up(c, data); err != nil {
		return fmt.Errorf("create cluster %q: %w", name, err)
	}
	return nil
}

// exists reports whether there is a cluster of a name.
func (p *Provider) exists(name string) (bool, error) {
	all, err := p.List()
	return slices.Contains(all, name), err
}

// Delete removes a cluster with all that it has on this machine, and its context from a kubeconfig: that of
// explicitKubeconfigPath, or with "" the person's own. A cluster that is not there is no error.
func (p *Provider) Delete(name, explicitKubeconfigPath string) error {
	data, name, err := p.data(name)
	if err != nil {
		return err
	}
	if exists, err := p.exists(name); err != nil || !exists {
		return err
	}

	args := []string{"--data-dir", data, "down", "--quiet"}
	if explicitKubeconfigPath != "" {
		args = append(args, "--kubeconfig", explicitKubeconfigPath)
	}
	if err := p.run(context.Background(), command{args: args}); err != nil {
		return fmt.Errorf("delete cluster %q: %w", name, err)
	}
	return p.leaveFolder()
}

// List returns the names of the clusters of this provider's folder, in order.
func (p *Provider) List() ([]string, error) {
	entries, err := os.ReadDir(p.folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}

	var names []string
	for _, e := range entries {
		if e.IsDir() && nameForm.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}

	return names, nil
}

// KubeConfig returns the kubeconfig of a cluster's administrator. One for programs inside of the cluster's network
// (internal) there is not: those are given service accounts.
func (p *Provider) KubeConfig(name string, internal bool) (string, error) {
	data, name, err := p.data(name)
	if err != nil {
		return "", err
	}
	if internal {
		return "", fmt.Errorf("kubeconfig of cluster %q: there is none for programs inside of it", name)
	}
	var out strings.Builder
	err = p.run(context.Background(), command{args: []string{"--data-dir", data, "kubeconfig"}, out: &out})
	if err != nil {
		return "", fmt.Errorf("kubeconfig of cluster %q: %w", name, err)
	}
	return out.String(), nil
}

// ExportKubeConfig writes the kubeconfig of a cluster's administrator to a file, for the owner of this process alone.
// What was in the file is replaced.
func (p *Provider) ExportKubeConfig(name, explicitPath string, internal bool) error {
	if explicitPath == "" {
		return errors.New("name the file: Create has already added a context to the person's own kubeconfig")
	}
	config, err := p.KubeConfig(name, internal)
	if err != nil {
		return err
	}
	return writeOwn(explicitPath, config)
}

// Node is a node of a cluster.
type Node struct {
	Name string `json:"name"`
	// OS is linux or windows, WindowsVersion the name of a version, as ltsc2022.
	OS             string `json:"os"`
	WindowsVersion string `json:"windowsVersion"`
	// Address is its address on the network of the cluster's hosts.
	Address string `json:"address"`
}

// ListNodes returns the nodes that a cluster is made of, whether they are ready or not.
func (p *Provider) ListNodes(name string) ([]Node, error) {
	data, name, err := p.data(name)
	if err != nil {
		return nil, err
	}

	if exists, err := p.exists(name); err != nil || !exists {
		if err == nil {
			err = errors.New("there is none")
		}
		return nil, fmt.Errorf("nodes of cluster %q: %w", name, err)
	}

	var plan *event
	watch := func(e event) {
		if e.Type == "plan" {
			plan = &e
		}
	}

	args := []string{"--data-dir", data, "up", "--dry-run", "-o", "json"}
	err = p.run(context.Background(), command{args: args, out: events(watch)})
	if plan == nil {
		return nil, errors.Join(fmt.Errorf("nodes of cluster %q are not known", name), err)
	}

	return plan.Nodes, nil
}

// CollectLogs writes what is needed to see what is wrong with a cluster to a folder, which is made.
func (p *Provider) CollectLogs(name, dir string) error {
	data, name, err := p.data(name)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	export := command{args: []string{"--data-dir", data, "export", "logs", dir}}
	if err := p.run(context.Background(), export); err != nil {
		return fmt.Errorf("collect logs of cluster %q: %w", name, err)
	}
	return nil
}

// LoadImageArchive loads the images of an archive (of docker save, or an OCI layout) on all nodes of a cluster.
func (p *Provider) LoadImageArchive(name string, archive io.Reader) error {
	data, name, err := p.data(name)
	if err != nil {
		return err
	}
	err = p.run(context.Background(), command{args: []string{"--data-dir", data, "image", "load", "-"}, in: archive})
	if err != nil {
		return fmt.Errorf("load images into cluster %q: %w", name, err)
	}
	return nil
}

// event is a line of what `mullion up -o json` prints.
type event struct {
	Type    string  `json:"type"`
	Unit    string  `json:"unit"`
	Node    string  `json:"node"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message"`
	Remedy  string  `json:"remedy"`
	Code    int     `json:"code"`
	Nodes   []Node  `json:"nodes"`
}

// events reads events, one a line, from what is written to it.
func events(watch func(event)) io.Writer {
	return &lines{each: func(line []byte) {
		var e event
		if json.Unmarshal(line, &e) == nil { // another version may say more
			watch(e)
		}
	}}
}
