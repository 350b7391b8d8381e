package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"mullion.dev/mullion/internal/runtime/vm"
)

// TestGuestSpec: the guest gets nothing of the host's paths and namespaces.
func TestGuestSpec(t *testing.T) {
	s := guestSpec(&specs.Spec{
		Annotations: map[string]string{vm.Annotation: "{}"},
		Root:        &specs.Root{Path: "rootfs"},
		Linux: &specs.Linux{
			CgroupsPath: "/mullion-1/win-1/pod/c1",
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.UserNamespace}, {Type: specs.NetworkNamespace, Path: "/run/mullion/netns/a"},
			},
		},
	}, "c1")

	want := &specs.Spec{
		Root: &specs.Root{Path: "/share/c1/rootfs"},
		Linux: &specs.Linux{
			CgroupsPath: "/pod/c1", Namespaces: []specs.LinuxNamespace{{Type: specs.UserNamespace}},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("specification (-want +got):\n%s", diff)
	}
}

func TestGuestOptions(t *testing.T) {
	hosts, err := typeurl.MarshalAnyToProto(&options.Options{
		BinaryName: "/opt/runc", Root: "/run/mullion/runc", IoUid: 7, IoGid: 8, ShimCgroup: "/mullion-1",
	})
	if err != nil {
		t.Fatal(err)
	}

	encoded, err := guestOptions(hosts)
	if err != nil {
		t.Fatal(err)
	}

	got, err := typeurl.UnmarshalAny(encoded)
	if err != nil {
		t.Fatal(err)
	}
	o := got.(*options.Options)
	if o.GetBinaryName() != vm.GuestRunc || o.GetRoot() != "/run/runc" || o.GetIoUid() != 7 || o.GetIoGid() != 8 ||
		o.GetShimCgroup() != "" {
		t.Errorf("options: %v", o)
	}
}

// TestBounded: an error of the guest keeps its kind, and not its length.
func TestBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, kind := range []error{errdefs.ErrNotFound, errdefs.ErrFailedPrecondition, context.DeadlineExceeded} {
		err := errgrpc.ToNative(bounded(errgrpc.ToGRPC(fmt.Errorf("%s: %w", long, kind))))
		if !errors.Is(err, kind) || len(err.Error()) > 4<<10 {
			t.Errorf("%v: %d bytes, is %v", kind, len(err.Error()), errors.Is(err, kind))
		}
	}
}

// TestReadSpec tells a machine from what is in it.
func TestReadSpec(t *testing.T) {
	bundle := t.TempDir()
	if _, _, err := readSpec(bundle); err == nil {
		t.Error("a bundle without a specification was read")
	}

	text, err := json.Marshal(specs.Spec{Annotations: map[string]string{
		vm.GroupAnnotation: "m1", vm.Annotation: `{"dir":"/run/mullion/1/vm/m1","memory":1073741824}`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}

	spec, machine, err := readSpec(bundle)
	if err != nil || machine != "m1" || spec.Share() != "/run/mullion/1/vm/m1/share" || spec.Memory != 1<<30 {
		t.Errorf("machine %q, %+v, %v", machine, spec, err)
	}
}
