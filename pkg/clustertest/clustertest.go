// Package clustertest gives a test a Kubernetes cluster with Windows nodes, and takes it down with the test.
//
//	func TestOnWindows(t *testing.T) {
//		c := clustertest.New(t, clustertest.Windows("ltsc2022"))
//		// c.KubeConfigPath() is for client-go, kubectl, controller-runtime and the like.
//	}
//
// A cluster takes some half a minute, so tests of a package share one: it is made in a test whose
// subtests use it. It needs mullion (https://pkg.go.dev/mullion.dev/mullion/pkg/cluster says how), and
// skips the test where there is none, unless MULLION_REQUIRED is set.
package clustertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/pkg/cluster"
)

// RequiredVariable is the environment variable that has a test fail, and not be skipped, where there is no mullion: for
// CI, where a test that is skipped every day is none.
const RequiredVariable = "MULLION_REQUIRED"

// Cluster is a test's cluster.
type Cluster struct {
	name       string
	kubeconfig string
	provider   *cluster.Provider
}

// options are what New is asked for.
type options struct {
	program  string
	provider []cluster.ProviderOption
	create   []cluster.CreateOption
	logs     string
}

// Option is an option of New.
type Option func(*options)

// Windows gives the cluster a node of each of the versions, such as ltsc2022; without it, it has one of ltsc2025. A
// Linux node is always there.
func Windows(versions ...string) Option {
	return With(cluster.CreateWithWindowsVersions(versions...))
}

// Kubernetes has the cluster be of a version of Kubernetes, such as 1.35.
func Kubernetes(version string) Option { return With(cluster.CreateWithKubernetesVersion(version)) }

// ConfigFile names the cluster's cluster.yaml.
func ConfigFile(path string) Option { return With(cluster.CreateWithConfigFile(path)) }

// With adds options of Create.
func With(all ...cluster.CreateOption) Option {
	return func(o *options) { o.create = append(o.create, all...) }
}

// Program names the program mullion; without it, it is looked for in PATH.
func Program(path string) Option {
	return func(o *options) { o.program, o.provider = path, append(o.provider, cluster.ProviderWithProgram(path)) }
}

// Folder names the folder of the clusters' data, an absolute path.
func Folder(path string) Option {
	return func(o *options) { o.provider = append(o.provider, cluster.ProviderWithFolder(path)) }
}

// Logs names a folder: where the test fails, what is needed to see why is put into a folder of it.
func Logs(dir string) Option { return func(o *options) { o.logs = dir } }

// most bounds the making of a cluster.
const most = 15 * time.Minute

// New makes a cluster, and ends the test if that fails. When the test has ended, the cluster is removed.
func New(t testing.TB, all ...Option) *Cluster {
	t.Helper()
	o := options{program: "mullion"}
	for _, one := range all {
		one(&o)
	}

	require(t, o.program)

	c := &Cluster{
		name:       "test-" + strings.ToLower(rand.Text())[:8],
		kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"),
	}
	logged := []cluster.ProviderOption{cluster.ProviderWithLogger(t.Logf)}
	c.provider = cluster.NewProvider(append(logged, o.provider...)...)
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()

	t.Cleanup(func() {
		if err := c.provider.Delete(c.name, "none"); err != nil {
			t.Errorf("the test's cluster is left: %v", err)
		}
	})

	t.Cleanup(func() {
		if t.Failed() && o.logs != "" {
			c.keepLogs(t, o.logs)
		}
	})
	create := append([]cluster.CreateOption{
		cluster.CreateWithContext(ctx), cluster.CreateWithKubeconfigPath("none"),
	}, o.create...)

	if err := c.provider.Create(c.name, create...); err != nil {
		t.Fatal(err)
	}
	if err := c.provider.ExportKubeConfig(c.name, c.kubeconfig, false); err != nil {
		t.Fatal(err)
	}
	return c
}

// require skips a test, or ends it, where there is no mullion.
func require(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv(RequiredVariable) != "" {
		t.Fatalf("%s is set, and there is no mullion", RequiredVariable)
	}
	t.Skip("there is no mullion, which makes the cluster, in PATH")
}

func (c *Cluster) keepLogs(t testing.TB, dir string) {
	t.Helper()
	dir = filepath.Join(dir, fmt.Sprintf("%s-%s", strings.ReplaceAll(t.Name(), "/", "-"), c.name))
	if err := c.provider.CollectLogs(c.name, dir); err != nil {
		t.Logf("logs of the cluster are not kept: %v", err)
		return
	}
	t.Logf("logs of the cluster are in %s", dir)
}

// Name returns the cluster's name.
func (c *Cluster) Name() string { return c.name }

// Provider returns who made the cluster.
func (c *Cluster) Provider() *cluster.Provider { return c.provider }

// KubeConfigPath returns a file with the kubeconfig of the cluster's administrator, which goes with the test.
func (c *Cluster) KubeConfigPath() string { return c.kubeconfig }
