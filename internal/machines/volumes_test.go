package machines_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/machines"
)

// A volume is made and removed by the machine of its node. A failed task is asked for again, and nothing of it stays in
// the records.
func TestVolumes(t *testing.T) {
	claim := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:            machines.ClaimName(2),
			Namespace:       machines.Namespace,
			UID:             "claim",
			OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "m2-win-1", UID: "node"}},
		},
		Data: map[string]string{"address": "192.0.2.2", "holder": "h"},
	}

	other := claim.DeepCopy()
	other.Name, other.OwnerReferences = machines.ClaimName(1), nil
	client := fake.NewClientset(claim, other)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	var mu sync.Mutex
	var did []string
	full := true
	done, err := machines.VolumeKeeper{
		Part:   2,
		Nodes:  []string{"m2-win-1"},
		Failed: func(err error) { t.Error(err) },
		Do: func(node, volume string, task machines.Task) error {
			mu.Lock()
			defer mu.Unlock()
			did = append(did, node+" "+volume+" "+string(task))
			if full {
				full = false
				return errors.New("no space left")
			}
			return nil
		},
	}.Keep(ctx, client)
	if err != nil {
		t.Fatal(err)
	}

	if err := machines.Volume(ctx, client, "m2-win-1", "pvc-1", machines.Make); err == nil ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("a machine that fails: %v", err)
	}

	for deadline := time.Now().Add(10 * time.Second); ; { // its first answer may be there for a moment
		err := machines.Volume(ctx, client, "m2-win-1", "pvc-1", machines.Make)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}

	if err := machines.Volume(ctx, client, "m2-win-1", "pvc-1", machines.Remove); err != nil {
		t.Error(err)
	}
	if err := machines.Volume(ctx, client, "far", "pvc-1", machines.Make); !errors.Is(err, machines.ErrNoMachine) {
		t.Errorf("a node that no machine has: %v", err)
	}

	wanted, err := client.CoreV1().ConfigMaps(machines.VolumesNamespace).Get(ctx, "m2-win-1", metav1.GetOptions{})
	if err != nil || len(wanted.Data) != 0 || len(wanted.OwnerReferences) != 1 ||
		wanted.OwnerReferences[0].UID != "node" {
		t.Errorf("what is wanted afterwards: %+v, %v", wanted, err)
	}

	for { // the machine removes results that are no longer wanted
		now, err := client.CoreV1().ConfigMaps(machines.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(now.Data) == 2 && now.Data["address"] == "192.0.2.2" {
			break
		}

		select {
		case <-ctx.Done():
			t.Fatalf("the claim keeps %v", now.Data)
		case <-time.After(20 * time.Millisecond):
		}
	}

	cancel()
	<-done
	mu.Lock()
	defer mu.Unlock()
	if last := did[len(did)-1]; last != "m2-win-1 pvc-1 remove" || len(did) > 4 {
		t.Errorf("the machine did %q", did)
	}
}

// A machine that is off is named in the error, and the volume is tried again later.
func TestVolumeOfMachineThatIsOff(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:            machines.ClaimName(1),
			Namespace:       machines.Namespace,
			OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "m1-win-1"}},
		},
		Data: map[string]string{"address": "192.0.2.1"},
	})

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := machines.Volume(ctx, client, "m1-win-1", "pvc-1", machines.Make)
	if err == nil || !strings.Contains(err.Error(), `the machine of node "m1-win-1" does not answer`) {
		t.Errorf("got %v", err)
	}
}
