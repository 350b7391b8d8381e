//go:build kernel || wine || cluster

// Package adtest runs Samba as the controller of a domain of Active Directory for tests, in a network namespace.
package adtest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/process/proc"
)

// What the domain is called, and its controller; an account of a computer that it has, as a node has one; the
// controller's share for one account, and the same for nobody.
const (
	Name       = "contoso.com"
	Realm      = "CONTOSO.COM"
	NetBIOS    = "CONTOSO"
	Controller = "dc1.contoso.com"
	Node       = "NODE1$"
	Share      = "data"
	Closed     = "closed"
)

// Domain is a domain.
type Domain struct {
	// Dir is the folder that is the share.
	Dir string

	tb          testing.TB
	root, dir   string // dir is a folder of root
	netns, host string
	cmd         *exec.Cmd
}

// Start makes a domain whose controller listens on the IPv4 address host in the network namespace pinned at netns, and
// ends it with the test. Only the account sharedWith ("webapp1$") may use the share. The test is skipped where there
// is no Samba that knows group managed service accounts.
func Start(tb testing.TB, netns, host, sharedWith string) *Domain {
	tb.Helper()
	d := &Domain{
		tb:    tb,
		netns: netns,
		host:  host,
		root:  findRoot(tb),
	}
	var err error
	//nolint:usetesting // a folder that Samba sees
	if d.dir, err = os.MkdirTemp(filepath.Join(d.root, "var/tmp"), "domain-"); err != nil {
		tb.Fatal(err)
	}

	tb.Cleanup(func() { _ = os.RemoveAll(d.dir) })
	d.Dir = filepath.Join(d.dir, "share")
	if err := os.Mkdir(d.Dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	d.provision(sharedWith)
	d.Run()

	// The controller's own services; Samba does it later by itself, together with updates of DNS.
	if out, err := d.command("samba_spnupdate", "--configfile="+d.config()).CombinedOutput(); err != nil {
		tb.Fatalf("samba_spnupdate: %v\n%s", err, out)
	}
	d.Tool("domain", "kds", "root-key", "create", "--use-start-time=2020-01-01T00:00:00Z")
	d.AddComputer(Node)
	return d
}

// Need skips the test where Start would.
func Need(tb testing.TB) {
	tb.Helper()
	findRoot(tb)
}

// findRoot returns the root of the file system that has Samba.
func findRoot(tb testing.TB) string {
	tb.Helper()
	cache := os.Getenv("MULLION_MACHINES_CACHE") //nolint:forbidigo // as hack/root.sh domain does
	if home, err := os.UserCacheDir(); cache == "" && err == nil {
		cache = filepath.Join(home, "mullion/machines")
	}
	for _, root := range []string{filepath.Join(cache, "domain-trixie"), "/"} {
		cmd := exec.CommandContext(tb.Context(), "chroot", root, "samba-tool", "service-account", "--help")
		if err := cmd.Run(); err == nil {
			return root
		}
	}
	tb.Skip("no Samba that knows group managed service accounts (4.22 and newer): hack/root.sh domain makes one")
	return ""
}

func (d *Domain) provision(sharedWith string) {
	d.tb.Helper()
	d.Tool("domain", "provision", "--realm="+Realm, "--domain="+NetBIOS, "--server-role=dc",
		"--dns-backend=SAMBA_INTERNAL",
		"--host-name=DC1", "--host-ip="+d.host, "--adminpass=Of-the-test-1", "--function-level=2016",
		"--option=ad dc functional level = 2016", "--targetdir="+d.inside(""))

	text := fmt.Sprintf(`[global]
 server role = active directory domain controller
 ad dc functional level = 2016
 netbios name = DC1
 realm = %[5]s
 workgroup = %[4]s
 interfaces = %[1]s/32
 bind interfaces only = yes
 server services = s3fs rpc ldap cldap kdc dns winbindd
 disable netbios = yes
 smb ports = 445
 tls enabled = no
 private dir = %[2]s/private
 lock directory = %[2]s
 state directory = %[2]s/state
 cache directory = %[2]s/cache
 binddns dir = %[2]s/bind-dns
 log file = %[2]s/log.%%m
 logging = file
 max log size = 0
[sysvol]
 path = %[2]s/state/sysvol
[%[3]s]
 path = %[2]s/share
 valid users = %[4]s\%[6]s
 force user = root
 read only = no
 store dos attributes = no
[%[7]s]
 path = %[2]s/share
 valid users = %[4]s\%[8]s
`, d.host, d.inside(""), Share, NetBIOS, Realm, sharedWith, Closed, Node)

	if err := os.WriteFile(filepath.Join(d.dir, "etc/smb.conf"), []byte(text), 0o600); err != nil {
		d.tb.Fatal(err)
	}
}

// inside returns a path below the domain's folder, as Samba sees it.
func (d *Domain) inside(name string) string {
	return filepath.Join("/", strings.TrimPrefix(d.dir, d.root), name)
}

func (d *Domain) config() string { return d.inside("etc/smb.conf") }

func (d *Domain) env() []string {
	return []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "KRB5_CONFIG=" + d.inside("private/krb5.conf"),
	}
}

func (d *Domain) command(program string, args ...string) *exec.Cmd {
	args = append([]string{"--net=" + d.netns, "chroot", d.root, program}, args...)
	cmd := exec.CommandContext(d.tb.Context(), "nsenter", args...)
	cmd.Env = d.env()
	return cmd
}

// Tool runs samba-tool, and returns what it says.
func (d *Domain) Tool(args ...string) string {
	d.tb.Helper()
	if _, err := os.Stat(filepath.Join(d.dir, "etc/smb.conf")); err == nil {
		args = append(args, "--configfile="+d.config())
	}
	out, err := d.command("samba-tool", args...).CombinedOutput()
	if err != nil {
		d.tb.Fatalf("samba-tool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Run starts the controller again.
func (d *Domain) Run() {
	d.tb.Helper()

	// Its children are in a namespace of processes that ends with it. Its parts find each other in /run, which is its
	// own.
	const own = `mount -t tmpfs tmpfs "$0/run" && mkdir "$0/run/samba" && exec chroot "$0" "$@"`
	cmd := exec.CommandContext(d.tb.Context(), "nsenter", "--net="+d.netns, "unshare", "--mount", "--pid", "--fork",
		"--kill-child", "sh", "-c", own, d.root, "samba", "--foreground", "--no-process-group", "--configfile="+d.config())
	cmd.Env = d.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		d.tb.Fatal(err)
	}

	d.cmd = cmd
	d.tb.Cleanup(d.Stop)
	for _, port := range []string{"53", "88", "389", "445"} {
		if err := d.wait(port); err != nil {
			d.Stop()
			d.tb.Fatalf("wait for port %s of samba: %v\n%s", port, err, said.Bytes())
		}
	}
}

func (d *Domain) wait(port string) (err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var c net.Conn
		if c, err = proc.DialIn(d.netns)(d.tb.Context(), "tcp", net.JoinHostPort(d.host, port)); err == nil {
			return c.Close()
		}
		select {
		case <-d.tb.Context().Done():
			return d.tb.Context().Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}

// Stop ends the controller.
func (d *Domain) Stop() {
	if d.cmd == nil {
		return
	}
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	_ = d.cmd.Wait()
	d.cmd = nil
}

// Signal sends a signal to all processes of the controller.
func (d *Domain) Signal(signal syscall.Signal) {
	d.tb.Helper()
	if err := syscall.Kill(-d.cmd.Process.Pid, signal); err != nil {
		d.tb.Fatal(err)
	}
}

// Log returns what the controller has logged of its clients.
func (d *Domain) Log() string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(d.dir, "log.*"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		fmt.Fprintf(&all, "%s:\n%s\n", filepath.Base(file), text)
	}
	return all.String()
}

// AddManaged makes a group managed service account ("webapp1$") whose password Node may read.
func (d *Domain) AddManaged(account string) {
	d.tb.Helper()
	name := strings.TrimSuffix(account, "$")
	d.Tool("service-account", "create", "--name="+name, "--dns-host-name="+name+"."+Name)
	d.Tool("service-account", "group-msa-membership", "add", "--name="+name, "--principal="+Node)
	d.Tool("user", "enable", account) // as New-ADServiceAccount makes it
}

// AddComputer makes a computer ("NODE2$") with a password.
func (d *Domain) AddComputer(account string, more ...string) {
	d.tb.Helper()
	d.Tool(append([]string{"computer", "create", strings.TrimSuffix(account, "$")}, more...)...)
	d.SetPassword(account)
}

// SetPassword gives an account another password.
func (d *Domain) SetPassword(account string) {
	d.tb.Helper()
	d.Tool("user", "setpassword", account, "--newpassword=A1-"+rand.Text())
}

// AddService makes an account for a service of another machine ("HTTP/web.contoso.com"), and returns its keytab.
func (d *Domain) AddService(name string) string {
	d.tb.Helper()
	computer := strings.NewReplacer("/", "-", ".", "-").Replace(name)[:min(len(name), 15)]
	d.AddComputer(computer+"$", "--service-principal-name="+name)
	return d.Keytab(name)
}

// Keytab returns a keytab of a principal.
func (d *Domain) Keytab(principal string) string {
	d.tb.Helper()
	name := fmt.Sprintf("%x.keytab", principal)
	d.Tool("domain", "exportkeytab", d.inside(name), "--principal="+principal)
	file := filepath.Join(d.dir, name)
	if err := os.Chmod(file, 0o600); err != nil {
		d.tb.Fatal(err)
	}
	return file
}
