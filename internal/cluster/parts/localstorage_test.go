package parts

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/controlplane/localstorage"
	"mullion.dev/mullion/internal/machines"
)

// storage returns the provisioner with an API that refuses the StorageClass so many times; refused gets a value each
// time.
func storage(t *testing.T, times int) (s *LocalStorage, client *fake.Clientset, refused chan struct{}) {
	t.Helper()
	client, refused = fake.NewClientset(), make(chan struct{}, 100)
	client.PrependReactor("patch", "storageclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
		if len(refused) >= times {
			return false, nil, nil
		}
		refused <- struct{}{}
		return true, nil, apierrors.NewServiceUnavailable("etcd has no leader")
	})
	return &LocalStorage{
		Controller: localstorage.New(localstorage.Config{Client: always(client)}),
		Client:     always(client),
	}, client, refused
}

// If the API loses a connection, it is asked again, and the class is there before the provisioner starts.
func TestLocalStorage(t *testing.T) {
	s, client, refused := storage(t, 1)
	if err := s.Start(t.Context()); err != nil || len(refused) != 1 {
		t.Fatalf("after %d refusals: %v", len(refused), err)
	}
	class, err := client.StorageV1().StorageClasses().Get(t.Context(), localstorage.Class, metav1.GetOptions{})
	if err != nil || class.Provisioner != localstorage.Provisioner {
		t.Errorf("the class: %+v, %v", class, err)
	}

	eventually(t, "claims are watched", func() bool {
		for _, a := range client.Actions() {
			if a.Matches("watch", "persistentvolumeclaims") {
				return true
			}
		}
		return false
	})

	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// If the time for the start is over, the error says what the API refused, and the provisioner has not been started.
func TestLocalStorageDoesNotStart(t *testing.T) {
	s, client, refused := storage(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-refused
		cancel()
	}()

	err := s.Start(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	says(t, err, "apply storage class", "etcd has no leader")
	for _, a := range client.Actions() {
		if a.GetVerb() == "watch" {
			t.Errorf("it watches %s", a.GetResource().Resource)
		}
	}

	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	s.Client = never
	if err := s.Start(t.Context()); !errors.Is(err, errNoClient) {
		t.Errorf("got %v", err)
	}
}

// A machine that joined makes and removes volumes as its nodes are asked to, and writes into its claim what it has done
// and what it could not do. A claim that it cannot read is logged.
func TestFarVolumesFollowsWhatIsWanted(t *testing.T) {
	claim := claimAt(2, "192.0.2.3")
	wanted := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "m2-win-1", Namespace: machines.VolumesNamespace},
		Data:       map[string]string{"others": string(machines.Remove)},
	}

	client, j := fake.NewClientset(claim, wanted), &journal{}
	v := &FarVolumes{
		Client: always(client),
		Part:   2,
		Nodes:  []string{"m2-win-1"},
		Place:  func(string) (localstorage.Place, bool) { return localstorage.Place{}, true },
		Log:    j.log(),
	}

	if err := v.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	said := func() string {
		got, err := client.CoreV1().ConfigMaps(machines.Namespace).Get(t.Context(), claim.Name, metav1.GetOptions{})
		if err != nil {
			return ""
		}
		return got.Data["done_m2-win-1_others"]
	}
	eventually(t, "the machine has answered", func() bool { return said() != "" })
	if got := said(); got != `error: volume "others" of node "m2-win-1" is none of this machine's` {
		t.Errorf("it says %q", got)
	}

	watched(t, client, "configmaps")
	if err := client.CoreV1().ConfigMaps(machines.Namespace).Delete(t.Context(), claim.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	wanted.Data = map[string]string{"more": string(machines.Remove)}
	if _, err := client.CoreV1().ConfigMaps(machines.VolumesNamespace).Update(t.Context(), wanted,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is logged", func() bool { return j.count("keep volumes") > 0 })
	if err := v.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	idle := &FarVolumes{Client: never}
	if err := idle.Start(t.Context()); !errors.Is(err, errNoClient) || idle.Stop(t.Context()) != nil {
		t.Errorf("got %v", err)
	}
}
