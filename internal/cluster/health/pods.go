package health

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/podowner"
)

// patience is how long a pod may take before it counts as late.
const patience = time.Minute

func done(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded }

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// pods counts the pods, and groups those that fail by owner and reason.
func (j *judge) pods() {
	all := &j.picture.Pods
	groups := map[[2]string]*PodsFailing{}
	lost := map[string]bool{}
	for _, n := range j.picture.Nodes {
		lost[n.Name] = n.Ready == string(corev1.ConditionFalse) || n.Ready == string(corev1.ConditionUnknown)
	}

	for i := range j.Pods {
		p := &j.Pods[i]
		all.Total++
		reason, why := trouble(p, j.At)
		switch {
		case done(p):
			all.Done++
			continue
		case lost[p.Spec.NodeName]:
			all.Lost++
			continue

		case reason != "":
			all.Failing++
		case ready(p):
			all.Ready++
			continue
		default:
			all.Waiting++
			continue
		}

		key := [2]string{podowner.Of(p), reason}
		if groups[key] == nil {
			groups[key] = &PodsFailing{
				Owner:  key[0],
				Reason: reason,
				Why:    why,
			}
		}
		groups[key].add(p)
	}

	for _, g := range groups {
		slices.Sort(g.Nodes)
		all.Fails = append(all.Fails, *g)
	}

	slices.SortFunc(all.Fails, func(a, b PodsFailing) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Reason, b.Reason))
	})
	for _, g := range all.Fails {
		j.find(Warning, g.Owner, g.what(), remedyOfPod(g))
	}
}

// add puts a pod, and the node that it is on, in the group.
func (g *PodsFailing) add(p *corev1.Pod) {
	g.Pods = append(g.Pods, p.Namespace+"/"+p.Name)
	if n := p.Spec.NodeName; n != "" && !slices.Contains(g.Nodes, n) {
		g.Nodes = append(g.Nodes, n)
	}
}

// what says how many pods fail, why, and where.
func (g *PodsFailing) what() string {
	what := g.Reason
	if g.Why != "" {
		what += ": " + g.Why
	}
	if len(g.Pods) > 1 {
		what = fmt.Sprintf("%d pods %s", len(g.Pods), what)
	}
	if len(g.Nodes) > 0 {
		what += " (on " + strings.Join(g.Nodes, ", ") + ")"
	}
	return what
}

// trouble returns why a pod does not run as it should; empty if it does, or still may.
func trouble(p *corev1.Pod, now time.Time) (reason, why string) {
	if p.Status.Phase == corev1.PodFailed {
		return cmp.Or(p.Status.Reason, "Failed"), firstLine(cmp.Or(p.Status.Message, ended(p)))
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && p.Spec.NodeName == "" {
			return cmp.Or(c.Reason, corev1.PodReasonUnschedulable), firstLine(c.Message)
		}
	}

	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := s.State.Waiting
		if w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" {
			continue
		}
		why := w.Message
		if last := s.LastTerminationState.Terminated; last != nil && w.Reason == "CrashLoopBackOff" {
			why = fmt.Sprintf("container %q ended %d times, the last time %s", s.Name, s.RestartCount, exit(last))
		}

		return w.Reason, firstLine(why)
	}

	return late(p, now)
}

// late returns why a pod that should run is not Ready, once that has taken too long.
func late(p *corev1.Pod, now time.Time) (reason, why string) {
	since := p.CreationTimestamp.Time
	if p.DeletionTimestamp != nil {
		if now.Sub(p.DeletionTimestamp.Time) > patience { // which has the grace period in it
			return "Terminating", "it was deleted, but it has not ended"
		}
		return "", ""
	}

	if ready(p) || now.Sub(since) < patience {
		return "", ""
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && now.Sub(c.LastTransitionTime.Time) < patience {
			return "", ""
		}
	}

	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil && !s.Ready {
			return "NotReady", fmt.Sprintf("container %q runs, but its readiness probe does not succeed", s.Name)
		}
	}

	return "NotStarted", "its containers have not been started for more than a minute"
}

// ended says how the containers of a pod that failed ended.
func ended(p *corev1.Pod) string {
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("container %q ended %s", s.Name, exit(t))
		}
	}
	return ""
}

// exit says how a container ended. Windows' status codes are known by their hexadecimal form.
func exit(t *corev1.ContainerStateTerminated) string {
	code := fmt.Sprintf("with exit code %d", t.ExitCode)
	if uint32(t.ExitCode) >= 0x80000000 {
		code = fmt.Sprintf("with status 0x%X", uint32(t.ExitCode))
	}
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
		code += " (" + t.Reason + ")"
	}
	return code
}

// remedyOfPod returns what a person can do about pods that fail.
func remedyOfPod(g PodsFailing) string {
	namespace, name, _ := strings.Cut(g.Pods[0], "/")
	pod := name
	if namespace != metav1.NamespaceDefault {
		pod = "-n " + namespace + " " + name
	}

	describe := fmt.Sprintf("`mullion kubectl describe pod %s` has its events", pod)
	switch g.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		if regexp.MustCompile(`no match for platform|no image .*for`).MatchString(g.Why) {
			return "the image is of another operating system or Windows version: place the pod with nodeSelector kubernetes.io/os, or a RuntimeClass windows-VERSION"
		}
		return "check the image's name and whether this machine reaches its registry; `mullion image pull` shows the whole error, `mullion image load` loads an archive instead"

	case "CrashLoopBackOff":
		return fmt.Sprintf("`mullion kubectl logs %s --previous` has its output; %s", pod, describe)
	case "Error", "Failed", "StartError", "OOMKilled": // it runs no more, or has not been started again yet
		return fmt.Sprintf("`mullion kubectl logs %s` has its output; %s", pod, describe)
	case "PodOSNotSupported", "NodeAffinity":
		return "spec.os.name and nodeSelector kubernetes.io/os have to name the system of the node"
	case corev1.PodReasonUnschedulable:
		return "check which nodes have these labels and enough room (`mullion kubectl describe nodes`); Windows nodes may have the taint os=windows:NoSchedule"
	case "Terminating":
		return describe + "; its node may be down"
	}

	return describe
}
