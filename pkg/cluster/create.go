package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// creation is what Create is asked for.
type creation struct {
	ctx               context.Context //nolint:containedctx // kind's Create has none, so it is an option
	name              string
	file              string
	raw               []byte
	windows           []string
	kubernetes        string
	kubeconfig        string
	wait              time.Duration
	retain            bool
	configured, named int
}

// defaultWait is how long Create waits for the nodes.
const defaultWait = 10 * time.Minute

func newCreation(name string) *creation {
	return &creation{
		ctx:     context.Background(),
		name:    name,
		windows: []string{"ltsc2025"},
		wait:    defaultWait,
	}
}

// CreateWithContext has Create end with a context, after what it has made so far is removed: it is waited for that, two
// minutes at most. Where sudo lets nobody signal mullion, which it runs, Create returns at once with an error which
// says that mullion goes on.
func CreateWithContext(ctx context.Context) CreateOption {
	return func(c *creation) { c.ctx = ctx }
}

// CreateWithConfigFile names a cluster.yaml. Its name is the cluster's in kubeconfigs, its subnets are not chosen.
func CreateWithConfigFile(path string) CreateOption {
	return func(c *creation) { c.file, c.configured = path, c.configured+1 }
}

// CreateWithRawConfig is CreateWithConfigFile with the file's text.
func CreateWithRawConfig(raw []byte) CreateOption {
	return func(c *creation) { c.raw, c.configured = raw, c.configured+1 }
}

// CreateWithWindowsVersions makes a Windows node for each of the versions, such as ltsc2022, and a Linux node.
func CreateWithWindowsVersions(versions ...string) CreateOption {
	return func(c *creation) { c.windows, c.named = versions, c.named+1 }
}

// CreateWithKubernetesVersion has the cluster be of a version of Kubernetes, such as 1.35, which lies beside mullion.
func CreateWithKubernetesVersion(version string) CreateOption {
	return func(c *creation) { c.kubernetes, c.named = version, c.named+1 }
}

// CreateWithKubeconfigPath names the kubeconfig that gets the cluster's context; "none": no file does. Without it that
// is the person's own.
func CreateWithKubeconfigPath(explicitPath string) CreateOption {
	return func(c *creation) { c.kubeconfig = explicitPath }
}

// CreateWithWaitForReady returns how long is waited for the nodes to be ready: ten minutes unless it is given. Unlike
// with kind, one that is not ready then is an error.
func CreateWithWaitForReady(waitTime time.Duration) CreateOption {
	return func(c *creation) { c.wait = waitTime }
}

// CreateWithRetain keeps a cluster that is not made whole, to be looked at.
func CreateWithRetain(retain bool) CreateOption {
	return func(c *creation) { c.retain = retain }
}

// check refuses options that contradict each other.
func (c *creation) check() error {
	switch {
	case c.configured > 1:
		return errors.New("several configurations are given, and a cluster has one")
	case c.configured > 0 && c.named > 0:
		return errors.New("versions are given beside a configuration: it names them")
	case c.configured == 0 && len(c.windows) == 0:
		return errors.New("no version of Windows is given")
	case c.wait <= 0:
		return fmt.Errorf("to wait %v is not to wait", c.wait)
	}
	return nil
}

// mostClusters is how many clusters have subnets beside each other.
const mostClusters = 30

// conflict is the exit code of mullion for subnets, a port or a folder that something else has.
const conflict = 4

// up runs `mullion up`. Where the subnets are chosen here, others are tried as long as something else has them. If it
// fails, the folder of the clusters goes as well, unless something is in it or mullion goes on.
func (p *Provider) up(c *creation, data string) (err error) {
	if err := p.makeFolder(c.ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil && !errors.Is(err, errGoesOn) {
			err = errors.Join(err, p.leaveFolder())
		}
	}()

	if c.configured > 0 {
		return p.upWith(c, data, c.raw)
	}
	for place := range mostClusters {
		if err = p.upWith(c, data, c.config(place)); !isConflict(err) || c.ctx.Err() != nil {
			return err
		}
		p.log("the subnets of place %d are taken: %v", place, err)
	}

	return err
}

func isConflict(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Code == conflict
}

// config returns a cluster.yaml, of which JSON is a part, for one of the places for clusters on a machine. The first is
// that of a cluster of `mullion up`, so it is not used.
func (c *creation) config(place int) []byte {
	type node map[string]any
	nodes := []node{{"os": "linux"}}
	for _, version := range c.windows {
		nodes = append(nodes, node{"os": "windows", "windowsVersion": version})
	}

	config := map[string]any{
		"apiVersion": "mullion.dev/v1alpha1",
		"kind":       "Cluster",
		"name":       c.name,
		"nodes":      nodes,
		"networking": map[string]any{
			"underlaySubnet": fmt.Sprintf("10.213.%d.0/24", 100+place),
			"podSubnet":      fmt.Sprintf("10.%d.0.0/16", 130+2*place),
			"serviceSubnet":  fmt.Sprintf("10.%d.0.0/16", 131+2*place),
		},
	}

	if c.kubernetes != "" {
		config["kubernetesVersion"] = c.kubernetes
	}
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // maps of strings and numbers are JSON
	}
	return text
}

// upWith runs `mullion up` with a configuration; nil: with the file that is named.
func (p *Provider) upWith(c *creation, data string, raw []byte) error {
	file := c.file
	if raw != nil {
		made, err := os.CreateTemp("", "cluster-*.yaml")
		if err != nil {
			return err
		}
		defer os.Remove(made.Name())
		_, err = made.Write(raw)
		if err := errors.Join(err, made.Close()); err != nil {
			return err
		}

		file = made.Name()
	}

	args := []string{"--data-dir", data, "up", "-f", file, "-o", "json", "--wait", c.wait.String()}
	if c.retain {
		args = append(args, "--retain")
	}
	if c.kubeconfig != "" {
		args = append(args, "--kubeconfig", c.kubeconfig)
	}
	return p.run(c.ctx, command{args: args, out: events(p.tell)})
}

// tell logs an event that a person wants to know.
func (p *Provider) tell(e event) {
	switch {
	case e.Type == "unit" && (e.State == "ready" || e.State == "failed"):
		p.log("%s %s is %s after %.1f s %s", e.Unit, e.Node, e.State, e.Seconds, e.Message)
	case e.Type == "waiting", e.Type == "warning":
		p.log("%s", e.Message)
	}
}
