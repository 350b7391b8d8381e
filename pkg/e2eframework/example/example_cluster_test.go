//go:build cluster

package example

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"mullion.dev/mullion/pkg/cluster"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/envfuncs"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"mullion.dev/mullion/pkg/e2eframework"
)

var testenv = env.NewWithConfig(envconf.New())

func TestMain(m *testing.M) {
	name := envconf.RandomName("test", 12)
	provider := e2eframework.NewProvider()
	provider.WithOpts(e2eframework.With(cluster.CreateWithWindowsVersions("ltsc2022")))
	if program := os.Getenv("MULLION"); program != "" {
		provider.WithPath(program)
	}

	testenv.Setup(envfuncs.CreateCluster(provider, name))
	testenv.Finish(envfuncs.DestroyCluster(name))
	os.Exit(testenv.Run(m))
}

// TestNodes: there is a Windows node.
func TestNodes(t *testing.T) {
	testenv.Test(t, features.New("nodes").Assess("one is of Windows", func(ctx context.Context, t *testing.T, c *envconf.Config) context.Context {
		var nodes corev1.NodeList
		if err := c.Client().Resources().List(ctx, &nodes); err != nil {
			t.Fatal(err)
		}
		systems := map[string]int{}
		for _, n := range nodes.Items {
			systems[n.Status.NodeInfo.OperatingSystem]++
		}
		if systems["windows"] != 1 || systems["linux"] != 1 {
			t.Errorf("the nodes are %v", systems)
		}
		return ctx
	}).Feature())
}

// labels is a controller that labels Windows nodes.
type labels struct{ client.Client }

func (l labels) Reconcile(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := l.Get(ctx, r.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if node.Labels["kubernetes.io/os"] != "windows" || node.Labels["example"] == "seen" {
		return ctrl.Result{}, nil
	}
	before := node.DeepCopy()
	node.Labels["example"] = "seen"
	return ctrl.Result{}, l.Patch(ctx, &node, client.MergeFrom(before))
}

// TestController runs a controller against the cluster, by envtest: UseExistingCluster, with the cluster's
// configuration.
func TestController(t *testing.T) {
	testenv.Test(t, features.New("controller").Assess("it labels the Windows node", func(ctx context.Context, t *testing.T, c *envconf.Config) context.Context {
		existing := true
		testEnv := &envtest.Environment{UseExistingCluster: &existing, Config: c.Client().RESTConfig()}
		config, err := testEnv.Start()
		if err != nil {
			t.Fatal(err)
		}
		defer testEnv.Stop() //nolint:errcheck // the cluster goes on

		manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
		if err == nil {
			err = ctrl.NewControllerManagedBy(manager).For(&corev1.Node{}).Complete(labels{manager.GetClient()})
		}
		if err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- manager.Start(running) }()
		defer func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()

		labelled := func(o *metav1.ListOptions) { o.LabelSelector = "example=seen" }
		for deadline := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
			var nodes corev1.NodeList
			err := c.Client().Resources().List(ctx, &nodes, labelled)
			if err == nil && len(nodes.Items) == 1 && nodes.Items[0].Status.NodeInfo.OperatingSystem == "windows" {
				return ctx
			}
			if time.Now().After(deadline) {
				t.Fatalf("no Windows node is labelled: %v, %v", nodes.Items, err)
			}
		}
	}).Feature())
}
