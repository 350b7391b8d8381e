package diagnose

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/podowner"
)

// tooLong is how long after its grace period a pod may still be there, and be no trouble.
const tooLong = time.Minute

func endingProbes() []Probe {
	return []Probe{
		{
			ID:     "pod-terminating",
			Title:  "a pod stays Terminating",
			Source: Source{"Pod termination", "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination"},
			Looks:  "pods on Windows nodes that were deleted more than a minute before now, after their grace period",
			Needs:  []Need{Pods},
			Cause: "the kubelet has ended the pod's containers and cannot remove what is left of the pod: a volume that is in use, " +
				"or whose files it cannot delete",
			Remedies: []string{
				"the kubelet's log on the node says what it cannot remove: look for the pod's UID and `UnmountVolume.TearDown failed`",
				"if the node will not come back: `kubectl delete pod POD --force --grace-period=0`; what it left on the node stays there",
			},
			look: terminating,
		},
		{
			ID:     "pod-folder-left",
			Title:  "a node has the folder of a pod that is gone",
			Source: Source{"Garbage collection of unused containers and images", "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#containers-images"},
			Looks:  "folders below C:\\var\\lib\\kubelet\\pods of Windows nodes, and the API server's pods",
			Needs:  []Need{Pods, Facts},
			Cause:  "the kubelet did not remove the folder with the pod, and what is in its volumes takes room on the node's disk",
			Remedies: []string{
				"if the pod went a moment ago, look again after a minute: the kubelet may be at it",
				"the kubelet's log on the node says why: look for `orphaned pod`",
				"on the node: `Remove-Item -Recurse -Force C:\\var\\lib\\kubelet\\pods\\UID`, if nothing is mounted below it",
			},
			look: foldersLeft,
		},
	}
}

// terminating finds pods that are there a minute after they ought to be gone.
func terminating(v *view) []Finding {
	var out []Finding
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.DeletionTimestamp == nil || !v.Looked(p.Spec.NodeName) || v.At.Sub(p.DeletionTimestamp.Time) <= tooLong {
			continue
		}
		// The API server puts the end of the grace period there.
		f := Finding{Object: "pod " + p.Namespace + "/" + p.Name}
		if owner := podowner.Of(p); owner != f.Object {
			f.Object += " of " + owner
		}

		f.Evidence = []string{fmt.Sprintf("it ought to have ended on %s %s; its UID is %s", p.Spec.NodeName,
			v.ago(*p.DeletionTimestamp), p.UID)}
		f.Cause, f.Remedies = v.whyTerminating(p)
		out = append(out, f)
	}

	return out
}

// whyTerminating returns the cause and its remedies where it is another than the probe's.
func (v *view) whyTerminating(p *corev1.Pod) (cause string, remedies []string) {
	if c := readiness(v.node(p.Spec.NodeName)); c == nil || c.Status == corev1.ConditionUnknown {
		return "the kubelet of " + p.Spec.NodeName + " does not report, so nobody ends the pod", []string{
			"bring the node back: `mullion diagnose` and `kubectl describe node` say more of it",
			"if it will not come back: `kubectl delete pod POD --force --grace-period=0`",
		}
	}

	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil {
			return fmt.Sprintf("container %s still runs", s.Name), []string{
				"the container runtime does not end it: its log and the kubelet's on the node say why (`KillContainer`)",
			}
		}
	}

	if len(p.Finalizers) > 0 {
		return "its finalizers are there: " + strings.Join(p.Finalizers, ", "), []string{
			"the controllers that set them have to take them away: see whether they run",
		}
	}

	return "", nil
}

// foldersLeft finds folders of pods that the API server does not know.
func foldersLeft(v *view) []Finding {
	known := map[string]bool{}
	for _, uid := range v.Later {
		known[uid] = true
	}

	for i := range v.Pods {
		for _, uid := range FolderNames(&v.Pods[i]) {
			known[uid] = true
		}
	}

	var out []Finding
	for _, name := range keys(v.Facts) {
		var h hits
		for _, folder := range v.Facts[name].PodFolders {
			if !known[folder] {
				h.add("node "+name, `C:\var\lib\kubelet\pods\`+folder+" is of no pod")
			}
		}
		out = append(out, h.findings()...)
	}

	return out
}

// FolderNames returns the names that the folder of a pod may have on its node: its UID, and for a static pod that of
// its file, which the kubelet notes in the pod's annotations.
func FolderNames(p *corev1.Pod) []string {
	names := []string{string(p.UID)}
	for _, key := range []string{"kubernetes.io/config.hash", "kubernetes.io/config.mirror"} {
		if name := p.Annotations[key]; name != "" {
			names = append(names, name)
		}
	}
	return names
}
