package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/atomicfile"
	"mullion.dev/mullion/internal/bootstrap"
	"mullion.dev/mullion/internal/discovery"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/spec"
)

// undoTimeout bounds the removal of what a join made that did not succeed.
const undoTimeout = 90 * time.Second

// joinCA is the authority of the cluster that the machine joined, joinKubeconfig a kubeconfig with the token it joined by.
func (p Paths) joinCA() string         { return p.join("join", "ca.crt") }
func (p Paths) joinKubeconfig() string { return p.join("join", "bootstrap.kubeconfig") }

// JoinOptions is what Join needs.
type JoinOptions struct {
	// Discovery says which cluster.
	Discovery discovery.Config
	// Address is where other machines reach this one; the zero Addr: the one from which this machine reaches the server.
	Address netip.Addr
	// Nodes are what the machine adds.
	Nodes []spec.Node

	Paths      Paths
	Executable string
	Environ    []string
	Progress   func(Progress)
	// Said is told each step before the nodes are started.
	Said func(string)
	// Retain keeps what is there of a join that did not succeed, to be looked at.
	Retain bool
}

// Join adds nodes on this machine to a cluster on another and returns when they are Ready. Of a join that does not succeed nothing is left,
// here or there, unless it is to be retained.
func Join(ctx context.Context, o JoinOptions) (spec.Cluster, error) {
	if have, err := LoadSpec(o.Paths); err == nil {
		return have, &ConflictError{
			Err:    fmt.Errorf("data folder %q holds a cluster or a machine of one already: %q", o.Paths.Data, have.Name),
			Remedy: "`mullion up` brings it back; `mullion leave` or `mullion down` removes it; or use another --data-dir",
		}
	}
	found, err := discovery.Find(ctx, o.Discovery)
	if err != nil {
		return spec.Cluster{}, err
	}
	o.Said("found the cluster at " + found.Server)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: found.Server, BearerToken: o.Discovery.Token.String(), TLSClientConfig: rest.TLSClientConfig{CAData: found.CA},
		QPS: -1, UserAgent: "mullion", Timeout: 30 * time.Second, WarningHandler: rest.NoWarnings{},
	})
	if err != nil {
		return spec.Cluster{}, err
	}
	c, err := machines.Specification(ctx, client)
	if err != nil {
		return c, err
	}
	j := &joining{JoinOptions: o, found: found, client: client, holder: rand.Text()}
	c, err = j.run(ctx, c)
	if err == nil || o.Retain {
		return c, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	return c, errors.Join(err, j.undo(ctx))
}

// joining is a join under way.
type joining struct {
	JoinOptions
	found  discovery.Cluster
	client kubernetes.Interface
	holder string
	part   int // 0 as long as none was claimed
}

func (j *joining) run(ctx context.Context, c spec.Cluster) (spec.Cluster, error) {
	address := j.Address
	if !address.IsValid() {
		var err error
		if address, err = sourceAddress(j.found.Server); err != nil {
			return c, err
		}
	}
	c.Join = &spec.Join{Server: j.found.Server, Part: 1, Address: address.String()}
	c.Nodes = j.Nodes
	if err := c.Validate(); err != nil {
		return c, &ConflictError{Err: err, Remedy: "choose another --name, --count or --advertise-address"}
	}
	if err := freeOfOthers(c, j.Paths); err != nil {
		return c, err
	}
	var err error
	if j.part, err = machines.Claim(ctx, j.client, c.Networking.Parts(), address, j.holder); err != nil {
		return c, err
	}
	c.Join.Part = j.part
	c = c.WithDefaults()
	j.Said(fmt.Sprintf("this machine is number %d, at %s", j.part, address))
	plan, err := NewPlan(c, j.Paths)
	if err != nil {
		return c, err
	}
	if err := machines.FreeNames(ctx, j.client, plan.names()); err != nil {
		return c, err
	}
	if err := j.Paths.Prepare(); err != nil {
		return c, &ConflictError{Err: err, Remedy: "choose another --data-dir"}
	}
	if err := j.save(); err != nil {
		return c, err
	}
	return up(ctx, UpOptions{Spec: c, Paths: j.Paths, Executable: j.Executable, Environ: j.Environ, Progress: j.Progress})
}

// save writes what the machine's kubelets join with.
func (j *joining) save() error {
	if err := os.MkdirAll(filepath.Dir(j.Paths.joinCA()), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(j.Paths.joinCA(), j.found.CA, 0o600); err != nil {
		return err
	}
	token := bootstrap.Token{ID: j.Discovery.Token.ID, Secret: j.Discovery.Token.Secret}
	text, err := clientcmd.Write(*bootstrap.TokenKubeconfig(token, j.found.Server, j.found.CA))
	if err != nil {
		return fmt.Errorf("encode the kubeconfig to join by: %w", err)
	}
	return atomicfile.Write(j.Paths.joinKubeconfig(), text, 0o600)
}

// undo removes what the join made, here and in the cluster.
func (j *joining) undo(ctx context.Context) error {
	if j.part == 0 {
		return nil
	}
	var errs []error
	if _, err := os.Stat(j.Paths.joinCA()); err == nil {
		errs = append(errs, Stop(ctx, j.Paths, func(string) {}))
		if err := Leave(ctx, j.Paths); err != nil && !errors.Is(err, os.ErrNotExist) { // no certificate: the node never registered
			errs = append(errs, err)
		}
		errs = append(errs, Down(ctx, j.Paths, func(string) {}))
	}
	return errors.Join(append(errs, machines.Release(ctx, j.client, j.part, j.holder))...)
}

// sourceAddress is this machine's address from which it reaches the server.
func sourceAddress(server string) (netip.Addr, error) {
	host, err := hostPort(server)
	if err != nil {
		return netip.Addr{}, err
	}
	conn, err := net.Dial("udp4", host) //nolint:noctx // sends nothing: it asks the kernel for the route
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find this machine's address towards %s: %w", host, err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil //nolint:forcetypeassert // of a UDP connection
}

// hostPort is the host:port of an API server's URL.
func hostPort(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("read the API server's URL %q: %w", server, err)
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "443"), nil
	}
	return u.Host, nil
}

func deleteNode(ctx context.Context, client kubernetes.Interface, name string) error {
	err := client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
