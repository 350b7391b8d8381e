package export

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Of an object of the API server its form is kept, every number and every boolean, and those texts that are listed
// here. Of any other text only its length is kept: what people write into arguments, hooks, headers, annotations and
// the options of drivers may be a secret, and a field that Kubernetes gets later may be one too.

// keptFields returns the fields whose texts are kept, wherever they are: a single text or a list of them.
func keptFields() []string {
	return strings.Fields(`
		apiVersion kind name generateName namespace uid resourceVersion creationTimestamp deletionTimestamp finalizers
		reason message type status phase qosClass nominatedNodeName
		lastTransitionTime lastProbeTime lastHeartbeatTime lastUpdateTime startTime startedAt finishedAt
		firstTimestamp lastTimestamp eventTime lastObservedTime component reportingComponent reportingInstance action
		nodeName hostname subdomain schedulerName priorityClassName runtimeClassName serviceAccountName serviceAccount
		restartPolicy restartPolicyRules dnsPolicy preemptionPolicy hostnames setHostnameAsFQDN policy
		image imageID imagePullPolicy containerID names terminationMessagePath terminationMessagePolicy workingDir
		mountPath subPath recursiveReadOnly mountPropagation medium sizeLimit
		protocol appProtocol scheme host hostIP hostIPs ip ips podIP podIPs port targetPort nodePort address addresses
		clusterIP clusterIPs externalIPs externalName loadBalancerIP loadBalancerClass loadBalancerSourceRanges
		ipFamilies ipFamilyPolicy sessionAffinity externalTrafficPolicy internalTrafficPolicy trafficDistribution
		addressType zone podCIDR podCIDRs providerID
		maxSurge maxUnavailable podManagementPolicy whenDeleted whenScaled currentRevision updateRevision updateStrategy
		serviceName storageClassName volumeMode volumeName accessModes claimName secretName driver fsType server
		path fieldPath resource containerName divisor key optional mode
		runAsUserName gmsaCredentialSpecName add drop level role user
		topologyKey whenUnsatisfiable operator effect conditionType resourceClaimName topologyManagerPolicy
	`)
}

// keptWhole returns the fields that are kept with all that is in them.
func keptWhole() []string {
	return []string{
		"labels", "matchLabels", "selector", "nodeSelector", "affinity", "tolerations", "taints", "ownerReferences",
		"limits", "requests", "capacity", "allocatable", "allocatedResources", "overhead", "nodeInfo", "dnsConfig",
		"involvedObject", "related", "daemonEndpoints", "targetRef", "topologySpreadConstraints", "runtimeHandlers",
		"features", "volumesAttached", "volumesInUse",
	}
}

// keptAnnotations returns the annotations whose values are kept; a name that ends with a slash stands for all below it.
func keptAnnotations() []string {
	return []string{
		"mullion.dev/", "projectcalico.org/", "flannel.alpha.coreos.com/",
		"deployment.kubernetes.io/revision", "deployment.kubernetes.io/desired-replicas",
		"deployment.kubernetes.io/max-replicas", "deprecated.daemonset.template.generation",
		"kubectl.kubernetes.io/restartedAt", "kubectl.kubernetes.io/default-container",
		"kubernetes.io/config.source", "kubernetes.io/config.seen", "kubernetes.io/config.hash",
		"node.alpha.kubernetes.io/ttl", "volumes.kubernetes.io/controller-managed-attach-detach",
		"endpoints.kubernetes.io/last-change-trigger-time",
	}
}

// shortest is how long a text is that is looked for in messages, in bytes. Shorter ones are words of any message.
const shortest = 8

// stripper takes out of objects what may be secret, and remembers it.
type stripper struct {
	fields, whole, annotations map[string]bool
	gone                       map[string]bool
}

func newStripper() *stripper {
	set := func(names []string) map[string]bool {
		m := map[string]bool{}
		for _, name := range names {
			m[name] = true
		}
		return m
	}
	return &stripper{
		fields:      set(keptFields()),
		whole:       set(keptWhole()),
		annotations: set(keptAnnotations()),
		gone:        map[string]bool{},
	}
}

// strip returns a value without what may be secret. field is the name of the field that has it.
func (s *stripper) strip(field string, value any) any {
	switch v := value.(type) {
	case string:
		return s.text(field, v)
	case []any:
		for i, each := range v {
			v[i] = s.strip(field, each)
		}

	case map[string]any:
		delete(v, "managedFields")
		for name, each := range v {
			switch {
			case name == "annotations":
				v[name] = s.annotated(each)
			case !s.whole[name]:
				v[name] = s.strip(name, each)
			}
		}
	}

	return value
}

// text keeps a text, or its length.
func (s *stripper) text(field, text string) string {
	if field == "path" { // of a request; what is behind the ? is for its server
		if path, query, ok := strings.Cut(text, "?"); ok {
			return path + "?" + s.remove(query)
		}
	}
	if s.fields[field] || text == "" {
		return text
	}
	return s.remove(text)
}

func (s *stripper) remove(text string) string {
	if len(text) >= shortest {
		s.gone[text] = true
	}
	return fmt.Sprintf("<%d bytes removed>", len(text))
}

// annotated keeps the names of annotations, and the values of those that are known. The copy of the manifest that
// kubectl keeps goes.
func (s *stripper) annotated(value any) any {
	notes, ok := value.(map[string]any)
	if !ok {
		return s.strip("", value)
	}
	delete(notes, corev1.LastAppliedConfigAnnotation)
	for name, each := range notes {
		if prefix, _, _ := strings.Cut(name, "/"); !s.annotations[name] && !s.annotations[prefix+"/"] {
			notes[name] = s.strip("", each)
		}
	}
	return notes
}

// messages returns a value whose messages have nothing of what was removed.
func (s *stripper) messages(value any) any {
	var pairs []string
	for text := range s.gone {
		pairs = append(pairs, text)
	}
	// Of two that begin alike the longer one is looked for first.
	slices.SortFunc(pairs, func(a, b string) int { return len(b) - len(a) })
	var both []string
	for _, text := range pairs {
		both = append(both, text, fmt.Sprintf("<%d bytes removed>", len(text)))
	}
	return inMessages(value, strings.NewReplacer(both...))
}

func inMessages(value any, without *strings.Replacer) any {
	switch v := value.(type) {
	case []any:
		for i, each := range v {
			v[i] = inMessages(each, without)
		}

	case map[string]any:
		for name, each := range v {
			if text, ok := each.(string); ok && name == "message" {
				v[name] = without.Replace(text)
				continue
			}
			v[name] = inMessages(each, without)
		}
	}

	return value
}
