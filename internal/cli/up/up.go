// Package up owns `mullion up`, `server` and `doctor`: which cluster is asked for, whether the machine is fit for it,
// and what is told of a cluster that comes up. Bringing it up is elsewhere.
package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/bringup"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/kubeconfig"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// Calls are what the commands ask of packages that reach for the machine.
type Calls struct {
	Preflight  bringup.Look
	Examine    func(context.Context, cluster.PreflightOptions) []preflight.Check
	Up         func(context.Context, cluster.UpOptions) (spec.Cluster, error)
	TakeBundle bringup.Take
	Await      func(context.Context, layout.Paths) error
	Stop       func(context.Context, layout.Paths, func(string)) error
	// Kubectl runs upstream's program for the cluster, and has it print to out.
	Kubectl func(ctx context.Context, out io.Writer, args ...string) error
}

// Real returns those of the program, but for Kubectl.
func Real() Calls {
	return Calls{
		Preflight:  cluster.Preflight,
		Examine:    cluster.Examine,
		Up:         cluster.Up,
		TakeBundle: cluster.TakeBundle,
		Await:      cluster.Await,
		Stop:       cluster.Stop,
	}
}

// Commands are `mullion up`, `mullion server` and `mullion doctor`.
type Commands struct {
	*reader.Reader

	calls Calls
}

// New returns the commands.
func New(r *reader.Reader, calls Calls) *Commands { return &Commands{Reader: r, calls: calls} }

type upFlags struct {
	file       string
	versions   []string
	kubernetes string
	listen     string
	kubeconfig string
	wait       time.Duration
	dryRun     bool
	sample     bool
	retain     bool
	foreground bool
	logLevel   string
	nice       cmdline.Switch
	advertise  string
	external   []string
	registry   string
	server     bool // without nodes, if the file has none
	bundles    []string
	wine       string
	own        *cluster.OwnBundle // what bundles make, nil without
	out        progress.Flags
}

// Up returns `mullion up`.
func (a *Commands) Up() *cobra.Command {
	var f upFlags

	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring up a cluster with Windows nodes, or bring one back",
		Long: `Brings up the cluster that cluster.yaml (-f) or --windows-version describes, waits until its nodes are Ready, and adds a
context to your kubeconfig. Without either, it brings back the cluster of the data folder, or makes one with a Linux
node and two Windows Server 2025 nodes. It is safe to repeat: after a crash or a reboot it brings back what is gone.
If the cluster is there and the file, or --windows-version, has further nodes at the end, they are added, while pods,
control plane and the other nodes go on.

With --bundle the cluster has Kubernetes' programs of your own` + bringup.BundleForm +
			` The control plane has their version, unless another is named; nodes
can be given it by their kubernetesVersion.

` + eventsHelp,
		Example: `  mullion up
  mullion up --windows-version ltsc2022,ltsc2019
  mullion up -f cluster.yaml --dry-run
  mullion up --registry
  mullion up --bundle kubernetes-server-linux-amd64.tar.gz --bundle kubernetes-node-windows-amd64.tar.gz`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runUp(cmd.Context(), f) },
	}

	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "cluster.yaml, or an API model of AKS Engine such as windows.json (- for standard input)")
	flags.StringSliceVar(&f.versions, "windows-version", nil,
		"make one Windows node for each of these versions, and a Linux node; for example ltsc2022,ltsc2019")
	flags.StringVar(&f.kubernetes, "kubernetes-version", "",
		"version of Kubernetes, for example 1.35; it must lie beside mullion (default: "+version.Kubernetes+")")
	flags.StringVar(&f.listen, "listen", "",
		"address, or address:port, of this machine on which the API server answers (default 127.0.0.1: this machine only)")
	flags.StringVar(&f.advertise, "advertise-address", "",
		"IPv4 address of this machine at which other machines may join, as with mullion server (default: none may)")

	flags.StringVar(&f.registry, "registry", "",
		"have a registry of images beside the cluster, localhost:5001 for this machine and all nodes, or another port of localhost")
	flags.Lookup("registry").NoOptDefVal = strconv.Itoa(spec.RegistryPort)
	flags.BoolVar(&f.sample, "sample", false, "also deploy the sample web server, and print how to reach it")
	f.out.AddFormat(cmd, "text, or json: events, one a line")
	f.addTo(cmd)
	cmdline.Complete(cmd, "windows-version", cmdline.WindowsVersions())
	if there, err := bundle.Versions(filepath.Dir(a.Env.Executable)); err == nil {
		cmdline.Complete(cmd, "kubernetes-version", there)
	}

	return cmd
}

// addTo adds the flags that up and server share.
func (f *upFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "",
		"kubeconfig file that gets the context (default: $KUBECONFIG or ~/.kube/config); \"none\" leaves it alone")
	bringup.BundleFlag(cmd, &f.bundles)
	bringup.WineFlag(cmd, &f.wine)
	flags.DurationVar(&f.wait, "wait", 5*time.Minute, "how long to wait for the cluster and its nodes to be ready")
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"print what would be brought up, and what of it the machine lacks (as mullion doctor does), and stop")
	flags.BoolVar(&f.foreground, "foreground", false,
		"stay until Ctrl-C or SIGTERM, then stop the cluster and keep its state: for units, containers and CI")

	flags.StringVar(&f.logLevel, "log-level", "",
		"how much Mullion's programs and containerd log: debug, info, warn or error; it stays so (default: as before, at first info)")
	cmdline.Complete(cmd, "log-level", logging.Names())
	flags.VarPF(&f.nice, "nice", "",
		"have all of the cluster give way to the machine's other work; it stays so until --nice=false").NoOptDefVal = "true"
	flags.BoolVar(&f.retain, "retain", false,
		"if a part of a new cluster does not start, keep the cluster and its logs instead of removing them")
	f.out.Add(cmd, "print a line for each of the cluster's parts")
}

func (a *Commands) runUp(ctx context.Context, f upFlags) (err error) {
	if _, err := f.level(); err != nil {
		return err
	}

	paths, err := a.Paths()
	if err != nil {
		return err
	}
	if err := f.out.Check(); err != nil {
		return err
	}

	r := progress.Start(ctx, a.Call, f.out)
	defer r.Close()

	if len(f.bundles) > 0 {
		var discard func() error
		use := bringup.Bundle{
			Command: "mullion up",
			Sources: f.bundles,
			DryRun:  f.dryRun,
			Take:    a.calls.TakeBundle,
		}

		if f.own, discard, err = use.TakeFor(ctx, a.Call, paths, r); err != nil {
			return err
		}
		defer func() {
			if err != nil || f.dryRun {
				err = errors.Join(err, discard())
			}
		}()
	}

	want, err := a.wanted(ctx, paths, f)
	if err != nil {
		return err
	}

	if f.dryRun {
		return a.dryRun(ctx, paths, want, f, r)
	}
	if err := a.RequireRoot("makes network namespaces, mounts and cgroups"); err != nil {
		return err
	}

	ctx, held, err := a.Hold(ctx, paths)
	if err != nil {
		return err
	}
	defer held.Release()

	if held.Waited() && f.asksNothing() { // the cluster that is there may be another now
		if want, err = a.wanted(ctx, paths, f); err != nil {
			return err
		}
	}

	return a.bringUp(ctx, paths, want, f, r)
}

// bringUp brings up a cluster and says what is there then.
func (a *Commands) bringUp(ctx context.Context, paths layout.Paths, want spec.Cluster, f upFlags,
	r *progress.Progress,
) error {
	if want.Join != nil {
		f.kubeconfig = "none" // the administrator's kubeconfig is on another machine
	}
	if err := hasPrograms(want, paths); err != nil {
		return err
	}
	if err := bringup.Preflight(ctx, a.Call, a.calls.Preflight, bringup.Options(a.Call, paths, want), r); err != nil {
		return err
	}

	person, err := kubeconfig.PersonalOf(a.Env.Environ, f.kubeconfig)
	if err != nil {
		return err
	}
	if err := person.Check(); err != nil {
		return err
	}

	r.Of(nodesOf(want, paths), kubernetesOf(want))
	level, err := f.level()
	if err != nil {
		return err
	}
	started := time.Now()
	waitCtx, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	r.Watch()

	resolved, err := a.calls.Up(waitCtx, cluster.UpOptions{
		Spec:       want,
		Paths:      paths,
		Executable: a.Env.Executable,
		Environ:    a.Env.Environ,
		Progress:   r.Told,
		Retain:     f.retain,
		LogLevel:   level,
		Mended:     r.OK,
		Nice:       f.nice.To,
	})

	r.Settle()
	if err != nil {
		return interrupted(ctx, remedy.Up(err, paths))
	}
	at, err := person.Merge(ctx, paths, resolved.Name)
	if err != nil {
		return err
	}

	seconds := time.Since(started).Seconds()
	r.Say("\nCluster %q is ready after %.1fs: %s. %s", resolved.Name, seconds, nodesAndHosts(resolved), at.Text(a.Command()))
	a.sayProxy(resolved, r)
	registry := ""
	if resolved.Registry != nil {
		registry = resolved.Registry.Host()
		r.Say("Its registry of images is %s, until `mullion down`.", registry)
	}

	for _, note := range cluster.VersionNotes(resolved) {
		r.Say("%s", note)
	}

	url := ""
	if !f.sample {
		a.sayNext(resolved, r)
	} else if url, err = (sample{a}).deploy(waitCtx, paths, r); err != nil {
		return err
	}

	r.Ended(seconds, progress.Cluster{
		Registry:          registry,
		Name:              resolved.Name,
		KubernetesVersion: kubernetesOf(resolved),
		Nodes:             nodesOf(resolved, paths),
		Kubeconfig:        at.Path(),
		Context:           at.Context,
		URL:               url,
	})

	if f.foreground {
		return a.stay(ctx, paths, r)
	}

	return nil
}

// level returns the log level that the flag names; nil without the flag.
func (f upFlags) level() (*logging.Level, error) {
	if f.logLevel == "" {
		return nil, nil
	}
	level, err := logging.Parse(f.logLevel)
	if err != nil {
		return nil, exit.Misuse(fmt.Errorf("--log-level: %w", err), "for example: --log-level debug")
	}
	return &level, nil
}

// nodesAndHosts counts the nodes of a cluster, and its bare hosts if there are any.
func nodesAndHosts(c spec.Cluster) string {
	bare := len(c.Bare())
	text := fmt.Sprintf("%d node(s)", len(c.Nodes)-bare)
	if bare > 0 {
		text += fmt.Sprintf(" and %d bare host(s)", bare)
	}
	return text
}

// sayProxy prints through which proxy nodes pull images, or why they do not use that of the environment.
func (a *Commands) sayProxy(c spec.Cluster, r *progress.Progress) {
	if c.Proxy != nil {
		if through := c.Proxy.String(); through != "" {
			r.Say("Its nodes pull images through %s.", through)
		}
		return
	}
	if _, err := spec.ProxyFrom(a.Env.Environ); err != nil {
		r.Say("Its nodes pull images without the proxy of this environment (HTTP_PROXY, HTTPS_PROXY): %v.\n"+
			"  proxy in cluster.yaml names one for them", err)
	}
}

// sayNext prints what the user can do next with the cluster, in commands that work as they are.
func (a *Commands) sayNext(c spec.Cluster, r *progress.Progress) {
	if len(c.Nodes) == 0 {
		return
	}
	if c.Networking.DisableDefaultCNI {
		r.Say("The nodes become Ready once you deploy a CNI plugin (networking.disableDefaultCNI).")
	}
	if bare := c.Bare(); len(bare) > 0 {
		r.Say("A bare host is yours to prepare:\n  %s node shell %s", a.RootCommand(), bare[0])
	}

	if c.Join == nil {
		r.Say("Try:\n  %s kubectl get nodes -o wide", a.Command())
	}
	if windows := func(n spec.Node) bool { return !n.Linux() && !n.Bare }; slices.ContainsFunc(c.Nodes, windows) {
		a.sayOwn(r)
	}
}

// sayOwn prints what to do with a program of one's own.
func (a *Commands) sayOwn(r *progress.Progress) {
	r.Say("Next, an image of your own program, which is in the folder ./app:\n  %s image build ./app -t app:v1",
		a.RootCommand())
}

// wanted returns the specification that the flags ask for; without such flags, the one in the data folder.
func (a *Commands) wanted(ctx context.Context, paths layout.Paths, f upFlags) (spec.Cluster, error) {
	if f.file != "" && len(f.versions) > 0 {
		return spec.Cluster{}, exit.Misuse(errors.New("--file and --windows-version exclude each other"),
			"name the versions in the file (nodes[].windowsVersion), or leave --file out")
	}

	if f.asksNothing() {
		if c, there, err := a.keptSpec(ctx, paths, f); there {
			return f.goesOn(c, err)
		}
	}

	c, err := a.describedSpec(ctx, f)
	if err != nil {
		return c, err
	}
	if c, err = f.complete(c); err != nil {
		return c, err
	}

	dirs := []string{paths.Data, paths.Bin}
	if f.own != nil {
		dirs[0] = f.own.Dir
		c.KubernetesVersion = cmp.Or(c.KubernetesVersion, f.own.Version)
	}

	if c, err = cluster.ResolveVersions(c, dirs...); err != nil {
		return c, versionError(err)
	}
	if f.own != nil && !slices.Contains(cluster.Versions(c), f.own.Version) {
		return c, exit.Misuse(fmt.Errorf("no part of the cluster has Kubernetes %s, which --bundle brings", f.own.Version),
			"name that version where it is to be: --kubernetes-version, or kubernetesVersion in the file; or leave --bundle out")
	}

	return c, f.sampleFits(c)
}

// goesOn returns the specification of a cluster that is there, with what may be asked of it; err is why it was not
// read.
func (f upFlags) goesOn(c spec.Cluster, err error) (spec.Cluster, error) {
	if err == nil {
		c, err = f.withExternalNodes(c)
	}
	if err == nil {
		c, err = f.withRegistry(c)
	}
	return c, cmp.Or(err, f.sampleFits(c))
}

// asksNothing reports whether no flag says anything about the cluster.
func (f upFlags) asksNothing() bool {
	return f.file == "" && len(f.versions) == 0 && f.advertise == "" && f.kubernetes == "" && f.own == nil && f.wine == ""
}

// versionError adds what to do about a version of Kubernetes that cannot be had.
func versionError(err error) error {
	remedy := "name another version: --kubernetes-version, or kubernetesVersion in the file"
	if errors.Is(err, bundle.ErrNotThere) {
		remedy += "; in a checkout, `make bundle VERSION=…` builds one; packages mullion-kubernetes-… have others"
	}
	return exit.Misuse(err, remedy)
}

// sampleFits returns an error if the sample's pods would wait for a network for ever.
func (f upFlags) sampleFits(c spec.Cluster) error {
	if !f.sample || !c.Networking.DisableDefaultCNI {
		return nil
	}
	return exit.Misuse(
		errors.New(
			"--sample needs a pod network, and with networking.disableDefaultCNI there is none until you deploy a CNI plugin"),
		"leave --sample out, deploy a CNI plugin, then apply the sample's manifest (examples/)")
}

// describedSpec returns the specification of --file, or else the default one, changed by the other flags.
func (a *Commands) describedSpec(ctx context.Context, f upFlags) (spec.Cluster, error) {
	if f.file != "" {
		return a.loadSpec(ctx, f.file)
	}
	for _, v := range f.versions {
		if _, err := winver.Lookup(v); err != nil {
			return spec.Cluster{}, exit.Misuse(fmt.Errorf("--windows-version: %w", err),
				"see `mullion support windows-versions`")
		}
	}
	return spec.Default(f.versions, f.server, f.advertise), nil
}

// complete checks a specification, gives it what the flags say, and checks it again after each of them: the error names
// the flag.
func (f upFlags) complete(c spec.Cluster) (spec.Cluster, error) {
	if f.advertise != "" && c.Networking.AdvertiseAddress != f.advertise {
		return c, exit.Misuse(errors.New("--advertise-address and --file exclude each other"),
			"name the address in the file (networking.advertiseAddress)")
	}
	if f.server && !c.SeveralMachines() {
		return c, exit.Misuse(
			errors.New("--advertise-address is missing: the address at which other machines reach this one"),
			"for example: mullion server --advertise-address 192.0.2.10")
	}

	if err := c.Validate(); err != nil {
		return c, exit.Misuse(err, describesFile)
	}
	if f.kubernetes != "" {
		c.KubernetesVersion = f.kubernetes
		if err := c.Validate(); err != nil {
			return c, exit.Misuse(fmt.Errorf("--kubernetes-version: %w", err), "for example: --kubernetes-version 1.35")
		}
	}

	c, err := f.withExternalNodes(c)
	if err != nil {
		return c, err
	}
	if c, err = f.withRegistry(c); err != nil {
		return c, err
	}
	if c.Wine, err = bringup.WineFolder(cmp.Or(f.wine, c.Wine)); err != nil {
		return c, err
	}

	if f.listen != "" {
		c.Networking.APIServerAddress = f.listen
		if at, err := netip.ParseAddrPort(f.listen); err == nil {
			c.Networking.APIServerAddress, c.Networking.APIServerPort = at.Addr().String(), int(at.Port())
		}
		if err := c.Validate(); err != nil {
			return c, exit.Misuse(fmt.Errorf("--listen: %w", err), "name an IP address of this machine, with a port if it matters: 0.0.0.0:6443")
		}
	}

	return c, nil
}

// withExternalNodes gives a specification the external nodes of the flag, if there is one.
func (f upFlags) withExternalNodes(c spec.Cluster) (spec.Cluster, error) {
	if f.external == nil { // and not empty, which asks for none
		return c, nil
	}
	if f.file != "" {
		return c, exit.Misuse(errors.New("--external-nodes and --file exclude each other"),
			"name the addresses in the file (networking.externalNodes)")
	}

	c.Networking.ExternalNodes = f.external
	if err := c.Validate(); err != nil {
		return c, exit.Misuse(fmt.Errorf("--external-nodes: %w", err), "for example: --external-nodes 192.0.2.77,192.0.2.78")
	}
	return c, nil
}

// withRegistry gives a specification the registry of the flag, if there is one.
func (f upFlags) withRegistry(c spec.Cluster) (spec.Cluster, error) {
	if f.registry == "" {
		return c, nil
	}

	text := f.registry
	for _, host := range []string{"localhost:", "127.0.0.1:"} {
		text = strings.TrimPrefix(text, host)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return c, exit.Misuse(fmt.Errorf("--registry: %q is not a port of localhost", f.registry),
			"for example: --registry=5001; the sign = is needed")
	}

	c.Registry = &spec.Registry{Port: port}
	if err := c.Validate(); err != nil {
		return c, exit.Misuse(fmt.Errorf("--registry: %w", err), "for example: --registry=5001")
	}
	return c, nil
}

// interrupted says, of a command that was ended from outside, what becomes of the cluster.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &exit.Error{
		Code:   exit.NotReady,
		Err:    err,
		Remedy: "the cluster goes on coming up: `mullion up` follows it again, `mullion down` removes it",
	}
}
