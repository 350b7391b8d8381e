//go:build kernel

package initiator_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/hostservices/initiator"
	"mullion.dev/mullion/internal/hostservices/iscsi/iscsitest"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// connected discovers and logs in to the open target, and returns the session.
func (h *host) connected(t *testing.T) hostiscsi.Session {
	t.Helper()
	a := h.must(t, hostiscsi.Request{Do: hostiscsi.AddPortal, Address: "127.0.0.1"})
	if len(a.Portals) != 1 || fmt.Sprint(a.Portals[0].Targets) != "["+iscsitest.Guarded+" "+iscsitest.Open+"]" {
		t.Fatalf("the portal is %+v", a.Portals)
	}
	a = h.must(t, hostiscsi.Request{Do: hostiscsi.Connect, Target: iscsitest.Open})
	if len(a.Sessions) != 1 || len(a.Sessions[0].Disks) != 2 || !a.Sessions[0].Connected ||
		a.Sessions[0].ID != a.Session {
		t.Fatalf("the sessions are %+v", a.Sessions)
	}
	return a.Sessions[0]
}

// TestSession goes a session's way: discovered, logged in, its disk formatted and used, the agent ended, logged out.
func TestSession(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	all := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks
	if len(all) != 2 || all[0].Bus != "iSCSI" || all[0].Size != iscsitest.DiskSize || all[0].Fault != "" || all[0].Serial == "" {
		t.Fatalf("the disks are %+v", all)
	}

	h.refused(t, "already been logged in", hostiscsi.Request{Do: hostiscsi.Connect, Target: iscsitest.Open})
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || (strings.Contains(string(mounts), h.dir+"/iscsi/") && !strings.Contains(string(mounts), "nosymfollow")) {
		t.Errorf("links of what keeps the session are followed: %v\n%s", err, mounts)
	}

	folder := h.volume(t, s.Disks[0])
	file := filepath.Join(folder, "kept")
	if err := os.WriteFile(file, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}

	used, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()

	end := hostiscsi.Request{Do: hostiscsi.Disconnect, Session: s.ID}
	h.refused(t, "currently being used", end)
	h.end() // the session outlives the agent
	if err := os.WriteFile(filepath.Join(folder, "meanwhile"), []byte("without an agent"), 0o600); err != nil {
		t.Error(err)
	}

	h.start(t)
	if a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get}); len(a.Sessions) != 1 || len(a.Sessions[0].Disks) != 2 {
		t.Errorf("the sessions are %+v", a.Sessions)
	}
	used.Close()
	h.must(t, end)
	if all := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks; len(all) != 0 {
		t.Errorf("disks are left: %+v", all)
	}

	h.eventually(t, "the session is over", func() error {
		if left := h.keepers(t); len(left) > 0 || strings.Contains(h.server.Sessions(), "win-1") {
			return fmt.Errorf("%v\n%s", left, h.server.Sessions())
		}
		return nil
	})

	h.must(t, hostiscsi.Request{
		Do:      hostiscsi.Connect,
		Target:  iscsitest.Open,
		Address: "127.0.0.1",
	})

	if err := reads(file, "bytes")(); err != nil {
		t.Error(err)
	}
	if err := reads(filepath.Join(folder, "meanwhile"), "without an agent")(); err != nil {
		t.Error(err)
	}
}

// TestKilled kills what keeps a session, then all of it while the agent is away: volumes are mounted again with what
// was written.
func TestKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	s := h.connected(t)
	file := filepath.Join(h.volume(t, s.Disks[0]), "kept")
	write := func(text string) {
		t.Helper()
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(text)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}

	write("before")
	container := filepath.Join(h.dir, "container")
	if err := os.Mkdir(container, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(filepath.Dir(file), container, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(container, unix.MNT_DETACH)

	kill := func() {
		t.Helper()
		all := h.keepers(t)
		if len(all) != 1 {
			t.Fatalf("the processes are %v", all)
		}
		if err := unix.Kill(all[0], unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}

	kill()
	h.eventually(t, "the container gets errors", func() error {
		if f, err := os.Create(filepath.Join(container, "new")); err == nil {
			err = f.Sync()
			_ = f.Close()
			if err == nil {
				return errors.New("it writes")
			}
		}
		return nil
	})

	h.eventually(t, "the volume is back", reads(file, "before"))
	write("between")
	kill()
	h.end()
	h.start(t)
	h.eventually(t, "the volume is back", reads(file, "between"))
	a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get})
	if len(a.Sessions) != 1 || fmt.Sprint(a.Sessions[0].Disks) != fmt.Sprint(s.Disks) {
		t.Errorf("the sessions are %+v", a.Sessions)
	}
}

// TestTargetGone has the target away for a moment, which who writes waits for, and then for too long, which gives
// errors; nothing that is asked meanwhile hangs.
func TestTargetGone(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	file := filepath.Join(h.volume(t, s.Disks[0]), "kept")
	write := func(text string) error {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Sync(), f.Close())
	}

	if err := write("before"); err != nil {
		t.Fatal(err)
	}

	h.server.Stop()
	waits := make(chan error, 1)
	go func() { waits <- write("while it was away") }()
	h.eventually(t, "the session says that the target does not answer", func() error {
		if a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get}); a.Sessions[0].Connected || a.Sessions[0].Fault == "" {
			return fmt.Errorf("%+v", a.Sessions)
		}
		return nil
	})

	begin := time.Now()
	all := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks
	if len(all) != 2 || !strings.Contains(all[0].Fault, "does not answer") {
		t.Errorf("the disks are %+v", all)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("listing disks took %s", took)
	}

	h.server.Again()
	if err := <-waits; err != nil {
		t.Errorf("who writes does not wait: %v", err)
	}
	if err := reads(file, "while it was away")(); err != nil {
		t.Error(err)
	}

	h.server.Stop()
	begin = time.Now()
	if err := write("lost"); err == nil {
		t.Error("it writes without a target")
	}

	if took := time.Since(begin); took > 2*hold+10*time.Second {
		t.Errorf("who writes waits for %s", took)
	} else {
		t.Logf("who writes gets an error after %s", took)
	}

	h.eventually(t, "the disks are gone", func() error {
		if all := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks; len(all) > 0 {
			return fmt.Errorf("%+v", all)
		}
		return nil
	})

	h.refused(t, "Connection Failed", hostiscsi.Request{
		Do:      hostiscsi.Connect,
		Target:  iscsitest.Guarded,
		Address: "127.0.0.1",
	})

	h.server.Again()
	h.eventually(t, "the volume is back", reads(file, "while it was away"))
	h.server.Pause() // it is there, and says nothing
	h.must(t, hostiscsi.Request{Do: hostiscsi.Get})
	h.server.Resume()
	h.server.Stop()
	h.eventually(t, "the session says that the target does not answer", func() error {
		if a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get}); a.Sessions[0].Connected {
			return fmt.Errorf("%+v", a.Sessions)
		}
		return nil
	})

	begin = time.Now()
	a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get})
	h.must(t, hostiscsi.Request{Do: hostiscsi.Disconnect, Session: a.Sessions[0].ID})
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the end of a session without a target took %s", took)
	}
}

// TestAgentBeginsWithoutTarget ends the agent and begins it while the target is away: the volume stays, and is used
// again when the target answers.
func TestAgentBeginsWithoutTarget(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	folder := h.volume(t, s.Disks[0])
	file := filepath.Join(folder, "kept")
	if err := os.WriteFile(file, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}

	h.disk(t, hostdisk.Request{
		Do:        hostdisk.Flush,
		Disk:      s.Disks[0],
		Partition: 2,
	})

	h.server.Stop()
	h.eventually(t, "the session says that the target does not answer", func() error {
		if a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get}); a.Sessions[0].Connected {
			return fmt.Errorf("%+v", a.Sessions)
		}
		return nil
	})

	h.end()
	h.start(t)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !strings.Contains(string(mounts), folder) {
		t.Errorf("the volume is taken away: %v", err)
	}
	h.server.Again()
	h.eventually(t, "the volume is there", reads(file, "bytes"))

	// What is mounted of no disk is taken away then.
	stray := filepath.Join(h.mounts(), "0b3ad1b3-8e0e-4f0c-9b56-a2f0a5e6d3c1")
	if err := os.Mkdir(stray, 0o700); err != nil {
		t.Fatal(err)
	}

	h.end()
	h.start(t)
	h.eventually(t, "what belongs to no disk is gone", func() error {
		if _, err := os.Stat(stray); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("it is left: %w", err)
		}
		return nil
	})

	if err := reads(file, "bytes")(); err != nil {
		t.Error(err)
	}
}

// TestSecrets logs in by CHAP; no secret is in a log, an answer, a command line or a file that others read.
func TestSecrets(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	h := newHost(t)
	h.must(t, hostiscsi.Request{Do: hostiscsi.AddPortal, Address: "127.0.0.1"})
	chap := hostiscsi.Request{
		Do: hostiscsi.Connect, Target: iscsitest.Guarded, Authentication: hostiscsi.OneWayCHAP, User: iscsitest.User,
		Secret: "wrong-hush-test",
	}

	h.refused(t, "Authentication Failure", hostiscsi.Request{Do: hostiscsi.Connect, Target: iscsitest.Guarded})
	h.refused(t, "Authentication Failure", chap)
	chap.Secret = iscsitest.Secret
	h.must(t, hostiscsi.Request{Do: hostiscsi.Disconnect, Session: h.must(t, chap).Session})
	chap.Authentication = hostiscsi.MutualCHAP
	h.refused(t, "Set-IscsiChapSecret", chap)
	h.must(t, hostiscsi.Request{Do: hostiscsi.SetSecret, Secret: "another-hush-of"})
	h.refused(t, "does not prove who it is", chap)
	h.must(t, hostiscsi.Request{Do: hostiscsi.SetSecret, Secret: iscsitest.TargetSecret})

	a := h.must(t, chap)
	if a.Sessions[0].Authentication != hostiscsi.MutualCHAP || len(a.Sessions[0].Disks) != 1 {
		t.Errorf("the session is %+v", a.Sessions)
	}

	for _, pid := range h.keepers(t) {
		for _, file := range []string{"cmdline", "environ"} {
			if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file)); err != nil || strings.Contains(string(data), "hush") {
				t.Errorf("%s of a process: %v, %s", file, err, data)
			}
		}
	}

	if info, err := os.Stat(filepath.Join(h.dir, "state", "iscsi.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state: %v, %v", info.Mode(), err)
	}
}

// TestPersistent ends sessions with a boot, but those that are persistent.
func TestPersistent(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	state := filepath.Join(h.dir, "state", "iscsi.json")

	reboot := func() {
		t.Helper()
		h.end()
		for _, pid := range h.keepers(t) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}

		boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
		if err != nil {
			t.Fatal(err)
		}

		data, err := os.ReadFile(state)
		if err == nil {
			another := strings.ReplaceAll(string(data), strings.TrimSpace(string(boot)), "another boot")
			err = os.WriteFile(state, []byte(another), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		h.start(t)
	}

	h.must(t, hostiscsi.Request{Do: hostiscsi.Register, Session: s.ID})
	reboot()
	back := func() error {
		a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get})
		if len(a.Sessions) != 1 || !a.Sessions[0].Connected || len(a.Sessions[0].Disks) != 2 {
			return fmt.Errorf("%+v", a.Sessions)
		}
		return nil
	}

	h.eventually(t, "the session is back", back)
	h.must(t, hostiscsi.Request{Do: hostiscsi.Disconnect, Session: s.ID})
	if a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get}); len(a.Sessions) != 0 {
		t.Errorf("the sessions are %+v", a.Sessions)
	}

	// An attempt that fails changes nothing of it, and one that succeeds takes its place.
	h.refused(t, "Authentication Failure", hostiscsi.Request{
		Do: hostiscsi.Connect, Target: iscsitest.Open, Authentication: hostiscsi.OneWayCHAP, User: iscsitest.User,
		Secret: "wrong-hush-test",
	})

	reboot()
	h.eventually(t, "the session is back", back)
	s = h.must(t, hostiscsi.Request{Do: hostiscsi.Get}).Sessions[0]
	h.must(t, hostiscsi.Request{Do: hostiscsi.Disconnect, Session: s.ID})
	s = h.must(t, hostiscsi.Request{
		Do:         hostiscsi.Connect,
		Target:     iscsitest.Open,
		Persistent: true,
	}).Sessions[0]

	if data, err := os.ReadFile(state); err != nil || strings.Count(string(data), `"isid"`) != 1 {
		t.Errorf("the state is %s, %v", data, err)
	}

	reboot()
	h.eventually(t, "the session is back", back)
	h.must(t, hostiscsi.Request{Do: hostiscsi.Unregister, Session: s.ID})
	reboot()
	if a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get}); len(a.Sessions) != 0 || len(a.Portals) != 1 {
		t.Errorf("there is %+v", a)
	}

	if all := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks; len(all) != 0 {
		t.Errorf("disks are left: %+v", all)
	}
}

// TestCopies gives the host two disks with the same bytes: the second is not taken for the first.
func TestCopies(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	folder := h.volume(t, s.Disks[0])
	if err := os.WriteFile(filepath.Join(folder, "of-the-first"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	h.must(t, hostiscsi.Request{Do: hostiscsi.Disconnect, Session: s.ID})
	h.server.Stop()
	copied := exec.Command("cp", "--sparse=always", filepath.Join(h.server.Dir, "open-1"), filepath.Join(h.server.Dir, "open-2"))
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	h.server.Again()
	s = h.must(t, hostiscsi.Request{Do: hostiscsi.Connect, Target: iscsitest.Open}).Sessions[0]
	all := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks
	if len(all) != 2 || all[0].Partitions[1].Fault != "" || !strings.Contains(all[1].Partitions[1].Fault, "identifier of one of disk") {
		t.Errorf("the disks are %+v", all)
	}
	h.must(t, hostiscsi.Request{Do: hostiscsi.Disconnect, Session: s.ID})
}

// TestGrow has a target make its disk larger: the host sees it when it looks anew, and its volume grows.
func TestGrow(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	file := filepath.Join(h.volume(t, s.Disks[0]), "kept")
	if err := os.WriteFile(file, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}

	h.disk(t, hostdisk.Request{
		Do:        hostdisk.Flush,
		Disk:      s.Disks[0],
		Partition: 2,
	})

	const larger = 2 * iscsitest.DiskSize
	h.server.Grow(larger)
	h.must(t, hostiscsi.Request{Do: hostiscsi.Rescan, Session: s.ID})
	d := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks[0]
	if d.Size != larger || d.Partitions[1].Most < larger-32<<20 {
		t.Fatalf("the disk is %+v", d)
	}

	a := h.disk(t, hostdisk.Request{
		Do:        hostdisk.Resize,
		Disk:      d.Number,
		Partition: 2,
		Size:      d.Partitions[1].Most,
	})
	if p := a.Disks[0].Partitions[1]; p.VolumeSize < larger-100<<20 || p.Fault != "" {
		t.Errorf("the volume is %+v", p)
	}

	if err := reads(file, "bytes")(); err != nil {
		t.Error(err)
	}
}

// TestRescanFails has a target take a disk away: who has the host look anew hears why it keeps those of before.
func TestRescanFails(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	h.server.Take()
	h.refused(t, "other disks than before", hostiscsi.Request{Do: hostiscsi.Rescan, Session: s.ID})
	if a := h.must(t, hostiscsi.Request{Do: hostiscsi.Get}); len(a.Sessions) != 1 || len(a.Sessions[0].Disks) != 2 {
		t.Errorf("the sessions are %+v", a.Sessions)
	}
}

// TestForeign has a target serve a file system of another system: it is known, by a tool that is a user without rights.
func TestForeign(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	h.disk(t, hostdisk.Request{Do: hostdisk.Initialize, Disk: s.Disks[0]})
	d := h.disk(t, hostdisk.Request{Do: hostdisk.Partition, Disk: s.Disks[0]})
	h.must(t, hostiscsi.Request{Do: hostiscsi.Disconnect, Session: s.ID})
	h.server.Stop()
	ext := exec.Command("mkfs.ext4", "-q", "-F", "-E", fmt.Sprintf("offset=%d", d.Disks[0].Partitions[1].Offset),
		filepath.Join(h.server.Dir, "open-1"), "50M")
	if out, err := ext.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	h.server.Again()
	h.must(t, hostiscsi.Request{Do: hostiscsi.Connect, Target: iscsitest.Open})
	if p := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks[0].Partitions[1]; p.FileSystem != "ext4" {
		t.Errorf("the volume is %+v", p)
	}

	tools, err := os.MkdirTemp("", "tools") //nolint:usetesting // a folder that each user reads
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tools)

	script := "#!/bin/sh\necho $(id -u) $(id -G) $(grep -h -e CapEff -e NoNewPrivs /proc/self/status)\n"
	err = errors.Join(os.Chmod(tools, 0o755), os.WriteFile(filepath.Join(tools, "blkid"), []byte(script), 0o755))
	if err != nil {
		t.Fatal(err)
	}

	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	p := h.disk(t, hostdisk.Request{Do: hostdisk.Get}).Disks[0].Partitions[1]
	if want := "65530 65530 CapEff: 0000000000000000 NoNewPrivs: 1"; p.FileSystem != want {
		t.Errorf("who reads the target's bytes is %q, want %q", p.FileSystem, want)
	}
}

// TestSettle ends what keeps a session without a loss; and with a target that is gone, without a wait.
func TestSettle(t *testing.T) {
	h := newHost(t)
	s := h.connected(t)
	file := filepath.Join(h.volume(t, s.Disks[0]), "kept")
	if err := os.WriteFile(file, []byte("cached"), 0o600); err != nil {
		t.Fatal(err)
	}

	h.end()
	if err := initiator.Settle(t.Context(), h.dir); err != nil {
		t.Fatal(err)
	}
	for _, pid := range h.keepers(t) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}

	h.start(t)
	h.eventually(t, "the volume is back", reads(file, "cached"))

	h.server.Stop()
	waits := make(chan error, 1)
	go func() {
		f, err := os.Create(file)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		waits <- err
	}()

	begin := time.Now()
	h.end()
	if err := initiator.Settle(t.Context(), h.dir); err != nil {
		t.Error(err)
	}
	if err := <-waits; err == nil {
		t.Error("it writes without a target")
	}

	if took := time.Since(begin); took > hold {
		t.Errorf("it took %s", took)
	}

	h.eventually(t, "the process has ended", func() error {
		if left := h.keepers(t); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
}
