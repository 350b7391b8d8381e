//go:build machines

package machines

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// attackParts are the parts of the suite of attacks that are tried in a guest: what pods do to reach past their
// container, and to starve the machine. What they write to the disk depends on no kernel.
const attackParts = "TestAttacks/^(administrator|user|bombs|starvation)$"

// criAttacks are the attacks among the tests of the CRI server (test/cri): containers that hand over what they have,
// answer in the place of their first process, hold leases, or plant links where others mount. What a cgroup counts, and
// what is left of one, differs between the versions of cgroups.
func criAttacks() []string {
	return []string{
		"TestHandedMemory", "TestExecByAnImpostor", "TestLeases", "TestMountBelowALink", "TestHandedOverToAnotherPod",
		"TestStarvation",
	}
}

// attackFolder is where the cluster of the attacks lies.
const attackFolder = "/var/lib/attacked"

// attacks tries them with the guest's kernel, cgroups and policy. The suite brings a cluster up and takes it down; then
// the machine must be as it was before.
func (try *trial) attacks(t *testing.T) {
	t.Helper()
	try.within(t, mostAttacks, "attacks", func(ctx context.Context, t *testing.T) {
		t.Helper()
		try.run(ctx, t, "mkdir -p "+attackFolder)
		try.before = try.run(ctx, t, traces)

		try.allowWine(ctx, t)
		enforced := strings.TrimSpace(try.run(ctx, t, "getenforce 2>/dev/null || echo none"))
		if try.machine.SELinux && enforced != "Enforcing" {
			t.Errorf("SELinux is %s", enforced)
		}

		// /tmp is memory on many machines; an overlay needs a disk, and SELinux has labels for what lies below
		// /var/lib.
		out, err := try.guest.RunAs(ctx, "root", fmt.Sprintf("cd /opt/mullion/test/attack && "+
			"TMPDIR=%s MULLION_BIN=/opt/mullion/bin MULLION_ATTACK_PROGRAMS=$PWD/programs "+
			"MULLION_ATTACK_PATIENCE=%d ./attack.test -test.v -test.timeout %s -test.run '%s'",
			attackFolder, patience, mostAttacks-2*time.Minute, attackParts), t.Output())
		if err != nil {
			denied, _ := try.guest.Run(context.WithoutCancel(ctx),
				"grep -ah 'avc:.*denied' /var/log/audit/* | tail -n 40")
			t.Fatalf("%v\nwhat SELinux denied:\n%s", err, denied)
		}

		for _, part := range []string{"administrator", "user", "bombs", "starvation"} {
			if !strings.Contains(out, "--- PASS: TestAttacks/"+part) {
				t.Errorf("the part %s did not run", part)
			}
		}
	})

	try.step(t, "cri-attacks", func(ctx context.Context, t *testing.T) {
		t.Helper()
		// Sockets of containerd's shims have paths of at most 42 bytes. Others walk through this folder, which is on a
		// disk.
		const folder = "/opt"
		out, err := try.guest.RunAs(ctx, "root", fmt.Sprintf("cd /opt/mullion/test/cri && "+
			"TMPDIR=%s MULLION_CRI_PROGRAMS=/opt/mullion/test/attack/programs MULLION_CRI_PATIENCE=%d "+
			"./cri.test -test.v -test.timeout %s -test.run '^(%s)$'",
			folder, patience, most-2*time.Minute, strings.Join(criAttacks(), "|")), t.Output())
		if err != nil {
			t.Error(err)
		}
		for _, name := range criAttacks() {
			if !strings.Contains(out, "--- PASS: "+name+" (") {
				t.Errorf("%s did not pass", name)
			}
		}
	})

	try.step(t, "no-trace", func(ctx context.Context, t *testing.T) {
		t.Helper()
		try.sameAsBefore(ctx, t)
	})
}
