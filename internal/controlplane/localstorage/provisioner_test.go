package localstorage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// disk returns a provisioner with one node, win-1, whose folder of volumes exists.
func disk(t *testing.T) (provisioner, string) {
	t.Helper()
	root := t.TempDir()
	folder := filepath.Join(root, "var", "volumes")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}

	return provisioner{place: func(node string) (Place, bool) {
		return Place{
			Root:   root,
			Folder: "var/volumes",
			Path:   `C:\var\volumes\`,
		}, node == "win-1"
	}}, folder
}

func options(change func(*request)) request {
	policy := corev1.PersistentVolumeReclaimRetain
	o := request{
		StorageClass:     &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, ReclaimPolicy: &policy},
		PVName:           "pvc-1",
		SelectedNodeName: "win-1",
		PVC: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("3Gi"),
			}},
		}},
	}

	if change != nil {
		change(&o)
	}

	return o
}

func TestProvisionAndDelete(t *testing.T) {
	p, folder := disk(t)
	var volume *corev1.PersistentVolume
	for range 2 { // the second time the folder is there
		made, err := p.Provision(t.Context(), options(nil))
		if err != nil {
			t.Fatal(err)
		}
		volume = made
	}

	kind := corev1.HostPathDirectoryOrCreate
	want := corev1.PersistentVolumeSpec{
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: `C:\var\volumes\pvc-1`,
			Type: &kind,
		}},
		NodeAffinity: affinity("win-1"),
	}

	if diff := cmp.Diff(want, volume.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	info, err := os.Stat(filepath.Join(folder, "pvc-1"))
	if err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("the volume's folder: %v, %v, want one that everybody may write to", info, err)
	}
	for range 2 { // the second time it is gone
		if err := p.Delete(t.Context(), volume); err != nil {
			t.Error(err)
		}
	}

	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestProvisionRefuses(t *testing.T) {
	p, folder := disk(t)
	for _, tt := range []struct {
		name, want string
		change     func(*request)
	}{
		{
			"no_node", "needs volumeBindingMode WaitForFirstConsumer",
			func(o *request) { o.SelectedNodeName = "" },
		},
		{
			"other_node", `node "far" is not a node of this machine`,
			func(o *request) { o.SelectedNodeName = "far" },
		},
		{"mode", "access mode ReadWriteMany is not supported", func(o *request) {
			o.PVC.Spec.AccessModes = append(o.PVC.Spec.AccessModes, corev1.ReadWriteMany)
		}},
		{"block", "does not support block volume provisioning", func(o *request) {
			o.PVC.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		}},
		{
			"selector", "spec.selector is not supported",
			func(o *request) { o.PVC.Spec.Selector = &metav1.LabelSelector{} },
		},
		{
			"parameters", "this provisioner knows none",
			func(o *request) { o.StorageClass.Parameters = map[string]string{"a": "b"} },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := p.Provision(t.Context(), options(tt.change)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("Provision() = %v, want %q", err, tt.want)
			}
		})
	}

	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("made: %v, %v", left, err)
	}
}

// A node whose disk is missing, and links that lead off the disk.
func TestProvisionStaysOnTheDisk(t *testing.T) {
	p, folder := disk(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Provision(t.Context(), options(nil)); err == nil ||
		!strings.Contains(err.Error(), "open the node's folder of volumes") {
		t.Errorf("without the folder: %v", err)
	}

	if err := os.Symlink(outside, folder); err != nil {
		t.Fatal(err)
	}

	if _, err := p.Provision(t.Context(), options(nil)); err == nil {
		t.Error("a volume was made outside of the node's disk")
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}

	volume, err := p.Provision(t.Context(), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder, "pvc-1", "link")); err != nil {
		t.Fatal(err)
	}

	if err := p.Delete(t.Context(), volume); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Errorf("removing a volume went through a link in it: %v", err)
	}
}

// Folders of other machines' nodes are made and removed on those machines; a volume of a node that no longer exists has
// no folder.
func TestElsewhere(t *testing.T) {
	p, folder := disk(t)
	var asked []string
	gone := false
	p.elsewhere = func(_ context.Context, node, volume string, remove bool) (string, error) {
		asked = append(asked, fmt.Sprint(node, volume, remove))
		if gone {
			return "", nil
		}
		return `C:\far\` + volume, nil
	}

	far := func(o *request) { o.SelectedNodeName = "far" }
	volume, err := p.Provision(t.Context(), options(far))
	if err != nil || volume.Spec.HostPath.Path != `C:\far\pvc-1` {
		t.Fatalf("Provision() = %+v, %v", volume, err)
	}
	if err := p.Delete(t.Context(), volume); err != nil {
		t.Error(err)
	}

	gone = true
	if _, err := p.Provision(t.Context(), options(far)); err == nil || !strings.Contains(err.Error(), "is no more") {
		t.Errorf("a volume of a node that is no more: %v", err)
	}
	if err := p.Delete(t.Context(), volume); err != nil {
		t.Error(err)
	}

	if diff := cmp.Diff([]string{"farpvc-1false", "farpvc-1true", "farpvc-1false", "farpvc-1true"}, asked); diff != "" {
		t.Errorf("-want +asked:\n%s", diff)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("made here: %v, %v", left, err)
	}
}

func TestDeleteRefuses(t *testing.T) {
	p, folder := disk(t)
	if err := os.Mkdir(filepath.Join(folder, "pvc-1"), 0o755); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, want string
		node, path string
	}{
		{"other_node", "not a node of this machine", "far", `C:\var\volumes\pvc-1`},
		{"other_path", "not where this provisioner puts volumes", "win-1", `C:\Windows`},
		{"no_node", "tied to no node", "", `C:\var\volumes\pvc-1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-1"}}
			v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: tt.path}
			if tt.node != "" {
				v.Spec.NodeAffinity = affinity(tt.node)
			}
			if err := p.Delete(t.Context(), v); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Delete() = %v, want %q", err, tt.want)
			}
		})
	}

	if _, err := os.Stat(filepath.Join(folder, "pvc-1")); err != nil {
		t.Errorf("a refused removal removed: %v", err)
	}
}
