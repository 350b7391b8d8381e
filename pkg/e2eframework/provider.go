// Package e2eframework is the provider of sigs.k8s.io/e2e-framework that makes a test's cluster with Windows nodes, by
// mullion.
//
//	provider := e2eframework.NewProvider().WithOpts(e2eframework.With(cluster.CreateWithWindowsVersions("ltsc2022")))
//	testenv.Setup(envfuncs.CreateCluster(provider, "test"))
//	testenv.Finish(envfuncs.DestroyCluster("test"))
//
// It is a module of its own, since e2e-framework brings client-go, and package cluster, which does the work, brings
// nothing.
package e2eframework

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"mullion.dev/mullion/pkg/cluster"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/klient/conf"
	"sigs.k8s.io/e2e-framework/support"
)

// Cluster is a cluster of a test, made or to be made.
type Cluster struct {
	name, version, program string
	provider               []cluster.ProviderOption
	create                 []cluster.CreateOption

	dir        string // of the kubeconfig, "" before it is made
	kubeconfig string
	context    string
	config     *rest.Config
}

var _ support.E2EClusterProviderWithImageLoader = (*Cluster)(nil)

// NewProvider returns a provider.
func NewProvider() *Cluster { return (&Cluster{}).defaults() }

// With has the cluster made with options of package cluster: its versions of Windows, a cluster.yaml, a time to wait.
func With(options ...cluster.CreateOption) support.ClusterOpts {
	return func(p support.E2EClusterProvider) {
		if c, ok := p.(*Cluster); ok {
			c.create = append(c.create, options...)
		}
	}
}

// WithProvider has the cluster made by a provider with such options: in another folder, with a logger.
func WithProvider(options ...cluster.ProviderOption) support.ClusterOpts {
	return func(p support.E2EClusterProvider) {
		if c, ok := p.(*Cluster); ok {
			c.provider = append(c.provider, options...)
		}
	}
}

func (c *Cluster) defaults() *Cluster {
	if c.name == "" {
		c.name = cluster.DefaultName
	}
	if c.program == "" {
		c.program = "mullion"
	}
	return c
}

// SetDefaults names what is not named yet.
func (c *Cluster) SetDefaults() support.E2EClusterProvider { return c.defaults() }

// WithName names the cluster: at most 42 of a-z, 0-9 and -.
func (c *Cluster) WithName(name string) support.E2EClusterProvider {
	c.name = name
	return c
}

// WithVersion names a version of Kubernetes that lies beside mullion, as 1.35 or v1.35.
func (c *Cluster) WithVersion(version string) support.E2EClusterProvider {
	c.version = strings.TrimPrefix(version, "v")
	return c
}

// WithPath names the program mullion, which is looked for in PATH without it.
func (c *Cluster) WithPath(path string) support.E2EClusterProvider {
	c.program = path
	return c
}

// WithOpts adds options.
func (c *Cluster) WithOpts(options ...support.ClusterOpts) support.E2EClusterProvider {
	for _, o := range options {
		o(c)
	}
	return c
}

func (c *Cluster) by() *cluster.Provider {
	options := append([]cluster.ProviderOption{cluster.ProviderWithProgram(c.program)}, c.provider...)
	return cluster.NewProvider(options...)
}

// Create makes the cluster, unless there is one of its name, and returns the path of its kubeconfig. Its nodes are
// ready then. No file of the person's gets a context. Further arguments are those of other providers' programs, and
// refused.
func (c *Cluster) Create(ctx context.Context, args ...string) (string, error) {
	return c.make(ctx, nil, args)
}

// CreateWithConfig is Create with a cluster.yaml.
func (c *Cluster) CreateWithConfig(ctx context.Context, configFile string) (string, error) {
	return c.make(ctx, []cluster.CreateOption{cluster.CreateWithConfigFile(configFile)}, nil)
}

func (c *Cluster) make(ctx context.Context, options []cluster.CreateOption, args []string) (string, error) {
	if len(args) > 0 {
		return "", fmt.Errorf("create cluster %q: %q are no arguments of mullion: With(cluster.CreateWith…) says what they would",
			c.name, args)
	}
	by := c.by()
	all, err := by.List()
	if err != nil {
		return "", err
	}

	if !slices.Contains(all, c.name) {
		if c.version != "" {
			options = append(options, cluster.CreateWithKubernetesVersion(c.version))
		}
		options = slices.Concat([]cluster.CreateOption{
			cluster.CreateWithContext(ctx), cluster.CreateWithKubeconfigPath("none"),
		}, options, c.create)
		if err := by.Create(c.name, options...); err != nil {
			return "", err
		}
	}

	if err := c.connect(by); err != nil {
		return "", fmt.Errorf("kubeconfig of cluster %q: %w", c.name, err)
	}
	return c.kubeconfig, nil
}

// connect writes the cluster's kubeconfig into a folder of its own, and reads it.
func (c *Cluster) connect(by *cluster.Provider) (err error) {
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "mullion-"+c.name+"-"); err != nil {
			return err
		}
	}
	c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	if err := by.ExportKubeConfig(c.name, c.kubeconfig, false); err != nil {
		return err
	}

	text, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		return err
	}
	c.context = text.CurrentContext
	c.config, err = conf.New(c.kubeconfig)
	return err
}

// GenerateKubeconfig writes the kubeconfig of a cluster that is there, and returns its path. Arguments are those of
// other providers' programs, and refused.
func (c *Cluster) GenerateKubeconfig(args ...string) (string, error) {
	if len(args) > 0 {
		return "", fmt.Errorf("kubeconfig of cluster %q: %q are no arguments of mullion", c.name, args)
	}
	if err := c.connect(c.by()); err != nil {
		return "", fmt.Errorf("kubeconfig of cluster %q: %w", c.name, err)
	}
	return c.kubeconfig, nil
}

// GetKubeconfig returns the path of the cluster's kubeconfig, which goes with the cluster; "": it is not made.
func (c *Cluster) GetKubeconfig() string { return c.kubeconfig }

// GetKubectlContext returns the context of that kubeconfig.
func (c *Cluster) GetKubectlContext() string { return c.context }

// KubernetesRestConfig returns what client-go, controller-runtime and its envtest take.
func (c *Cluster) KubernetesRestConfig() *rest.Config { return c.config }

// ExportLogs writes what is needed to see what is wrong with the cluster to a folder, which is made.
func (c *Cluster) ExportLogs(_ context.Context, dest string) error {
	return c.by().CollectLogs(c.name, dest)
}

// Destroy removes the cluster with all that it has on this machine. One that is not there is no error.
func (c *Cluster) Destroy(context.Context) error {
	if err := c.by().Delete(c.name, "none"); err != nil {
		return err
	}
	dir := c.dir
	c.dir, c.kubeconfig = "", ""
	c.context, c.config = "", nil
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

// WaitForControlPlane looks whether all nodes are ready: Create has waited for that.
func (c *Cluster) WaitForControlPlane(ctx context.Context, client klient.Client) error {
	var nodes corev1.NodeList
	if err := client.Resources().List(ctx, &nodes); err != nil {
		return fmt.Errorf("nodes of cluster %q: %w", c.name, err)
	}
	if len(nodes.Items) == 0 {
		return fmt.Errorf("cluster %q has no node", c.name)
	}
	for _, n := range nodes.Items {
		if !slices.ContainsFunc(n.Status.Conditions, func(is corev1.NodeCondition) bool {
			return is.Type == corev1.NodeReady && is.Status == corev1.ConditionTrue
		}) {
			return fmt.Errorf("node %s of cluster %q is not ready", n.Name, c.name)
		}
	}
	return nil
}

// LoadImageArchive loads the images of an archive (of docker save, or an OCI layout) on all nodes.
func (c *Cluster) LoadImageArchive(_ context.Context, archivePath string, args ...string) error {
	if len(args) > 0 {
		return fmt.Errorf("load images: %q are no arguments of mullion", args)
	}
	archive, err := os.Open(archivePath)
	if err != nil {
		return err
	}
	defer archive.Close()
	return c.by().LoadImageArchive(c.name, archive)
}

// LoadImage loads an image of this machine's Docker on all nodes.
func (c *Cluster) LoadImage(ctx context.Context, image string, args ...string) error {
	if len(args) > 0 {
		return fmt.Errorf("load image %q: %q are no arguments of mullion", image, args)
	}
	save := exec.CommandContext(ctx, "docker", "save", image)
	said := &strings.Builder{}
	archive, to := io.Pipe()
	save.Stdout, save.Stderr = to, said
	if err := save.Start(); err != nil {
		return fmt.Errorf("load image %q: docker has it, or an archive: %w", image, err)
	}

	saved := make(chan error, 1)
	go func() {
		err := save.Wait()
		if err != nil {
			err = fmt.Errorf("docker save %s: %w: %s", image, err, strings.TrimSpace(said.String()))
		}
		to.CloseWithError(err) // nil is the end
		saved <- err
	}()
	err := c.by().LoadImageArchive(c.name, archive)
	archive.Close()
	return errors.Join(<-saved, err)
}
