package fault

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"mullion.dev/mullion/internal/base/kubeclient"
)

//go:embed manifests
var manifests embed.FS

// annotations is the fault that flannel's annotations of a node make.
const annotations = "flannel-annotations"

// annotated returns what flannel would say of a node, with a network number and an address that do not fit.
func annotated() map[string]string {
	return map[string]string{
		"flannel.alpha.coreos.com/backend-type": "vxlan",
		"flannel.alpha.coreos.com/backend-data": `{"VNI":1,"VtepMAC":"aa:bb:cc:dd:ee:ff"}`,
		"flannel.alpha.coreos.com/public-ip":    "192.0.2.9",
	}
}

// does returns what is done for a fault: the first line of its manifest, which is a comment.
func does(id string) (string, bool) {
	if id == annotations {
		return "annotations of flannel on a Windows node that do not fit it", true
	}
	text, err := manifests.ReadFile("manifests/" + id + ".yaml")
	if err != nil {
		return "", false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "# "), true
}

// Values are what the manifests lack: nodes, and images that their stores have.
type Values struct {
	WindowsNode, LinuxNode   string
	WindowsImage, LinuxImage string
}

// objects returns the objects of a fault, with its label.
func objects(id string, v Values) ([]runtime.Object, error) {
	text, err := manifests.ReadFile("manifests/" + id + ".yaml")
	if err != nil {
		return nil, err
	}

	filled := strings.NewReplacer("WINDOWS-NODE", v.WindowsNode, "LINUX-NODE", v.LinuxNode, "WINDOWS", v.WindowsImage,
		"LINUX", v.LinuxImage).Replace(string(text))
	var all []runtime.Object
	for in := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(filled))); ; {
		one, err := in.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}

		if len(bytes.TrimSpace(one)) == 0 {
			continue
		}
		o, _, err := kubeclient.Codecs().UniversalDeserializer().Decode(one, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("read the manifest of fault %s: %w", id, err)
		}

		meta, ok := o.(metav1.Object)
		if !ok {
			return nil, fmt.Errorf("read the manifest of fault %s: %T has no name", id, o)
		}
		labels := meta.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}

		labels[Label] = id
		meta.SetLabels(labels)
		if _, cluster := o.(*nodev1.RuntimeClass); !cluster && meta.GetNamespace() == "" {
			meta.SetNamespace(Namespace)
		}
		all = append(all, o)
	}
}

// create makes an object; one of the same fault that is there already stays.
func create(ctx context.Context, c kubeclient.Interface, o runtime.Object) error {
	var err error
	var there func() (metav1.Object, error)
	switch o := o.(type) {
	case *corev1.Pod:
		_, err = c.CoreV1().Pods(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		there = func() (metav1.Object, error) {
			return c.CoreV1().Pods(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		}

	case *corev1.Service:
		_, err = c.CoreV1().Services(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		there = func() (metav1.Object, error) {
			return c.CoreV1().Services(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		}

	case *corev1.ConfigMap:
		_, err = c.CoreV1().ConfigMaps(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		there = func() (metav1.Object, error) {
			return c.CoreV1().ConfigMaps(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		}

	case *appsv1.DaemonSet:
		_, err = c.AppsV1().DaemonSets(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		there = func() (metav1.Object, error) {
			return c.AppsV1().DaemonSets(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		}

	case *nodev1.RuntimeClass:
		_, err = c.NodeV1().RuntimeClasses().Create(ctx, o, metav1.CreateOptions{})
		there = func() (metav1.Object, error) {
			return c.NodeV1().RuntimeClasses().Get(ctx, o.Name, metav1.GetOptions{})
		}
	default:
		return fmt.Errorf("no fault is made of a %T", o)
	}

	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	old, wrong := there()
	if wrong != nil {
		return wrong
	}

	if old.GetLabels()[Label] == "" {
		return &TakenError{Object: fmt.Sprintf("%T %s/%s", o, old.GetNamespace(), old.GetName())}
	}
	return nil
}

// TakenError says that somebody else has an object of the name that a fault needs.
type TakenError struct{ Object string }

func (e *TakenError) Error() string {
	return e.Object + " is there already, and no fault's: it is left as it is"
}
