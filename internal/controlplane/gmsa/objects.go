package gmsa

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
)

// object is a part of a manifest.
type object = map[string]any

// definition returns the CustomResourceDefinition, as windows-gmsa has it: v1 is stored, v1alpha1 served too.
func definition() object {
	text := object{"type": "string"}
	texts := func(names ...string) object {
		all := object{}
		for _, n := range names {
			all[n] = text
		}
		return object{"type": "object", "properties": all}
	}

	list := func(of object) object { return object{"type": "array", "items": of} }
	directory := object{"type": "object", "properties": object{
		"GroupManagedServiceAccounts": list(texts("Name", "Scope")),
		"HostAccountConfig":           texts("PluginGUID", "PluginInput", "PortableCcgVersion"),
	}}

	schema := object{"openAPIV3Schema": object{"type": "object", "properties": object{
		"apiVersion": text, "kind": text, "metadata": object{"type": "object"},
		"credspec": object{"type": "object", "description": "GMSA Credential Spec", "properties": object{
			"ActiveDirectoryConfig": directory,
			"CmsPlugins":            list(text),
			"DomainJoinConfig":      texts("DnsName", "DnsTreeName", "Guid", "MachineAccountName", "NetBiosName", "Sid"),
		}},
	}}}

	version := func(name string, storage bool) object {
		return object{"name": name, "served": true, "storage": storage, "schema": schema}
	}

	return object{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata": object{
			"name": resource + "." + group,
			// The API server wants this of every kind of a group of Kubernetes' own.
			"annotations": object{
				"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/689-windows-gmsa",
			},
		},
		"spec": object{
			"group": group, "scope": "Cluster",
			"names":    object{"kind": kind, "plural": resource, "singular": strings.ToLower(kind), "listKind": kind + "List"},
			"versions": []object{version("v1", true), version("v1alpha1", false)},
		},
	}
}

// apply puts the kind and the webhook's configurations in place. The webhook must serve by then.
func apply(ctx context.Context, client kubeclient.Interface, minor version.Minor, ca []byte) error {
	crd := definition()
	body, err := json.Marshal(crd)
	if err != nil {
		return fmt.Errorf("encode definition of %s: %w", kind, err)
	}

	err = client.RESTClient().Patch(types.ApplyYAMLPatchType).
		AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+resource+"."+group).
		Param("fieldManager", fieldManager).Param("force", "true").Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("apply definition of %s: %w", kind, err)
	}

	force := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	mutating, validating := webhooks(minor, ca)
	configurations := client.AdmissionregistrationV1()
	if _, err := configurations.MutatingWebhookConfigurations().Apply(ctx, mutating, force); err != nil {
		return fmt.Errorf("apply mutating webhook %q: %w", webhookName, err)
	}

	_, err = configurations.ValidatingWebhookConfigurations().Apply(ctx, validating, force)
	if err != nil {
		return fmt.Errorf("apply validating webhook %q: %w", webhookName, err)
	}

	return nil
}

// webhooks returns the webhook's configurations. An old API server asks it for every pod, as it does upstream's: for
// one without a credential spec it has nothing to say.
func webhooks(minor version.Minor, ca []byte) (
	*admissionv1.MutatingWebhookConfiguration, *admissionv1.ValidatingWebhookConfiguration,
) {
	var conditions []admissionv1.MatchCondition
	if minor >= version.MatchConditions {
		conditions = condition()
	}

	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	equivalent, ifNeeded := admissionv1.Equivalent, admissionv1.IfNeededReinvocationPolicy
	seconds := int32(10)
	meta := metav1.ObjectMeta{Name: webhookName}

	mutating := &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admissionv1.MutatingWebhook{{
			Name:                    webhookName,
			ClientConfig:            calls("/mutate", ca),
			Rules:                   rules(admissionv1.Create, "pods"),
			FailurePolicy:           &fail,
			MatchPolicy:             &equivalent,
			NamespaceSelector:       namespaces(),
			SideEffects:             &none,
			TimeoutSeconds:          &seconds,
			AdmissionReviewVersions: []string{"v1"},
			ReinvocationPolicy:      &ifNeeded,
			MatchConditions:         conditions,
		}},
	}

	added := rules(admissionv1.Update, "pods/ephemeralcontainers")
	validating := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:                    webhookName,
			ClientConfig:            calls("/validate", ca),
			Rules:                   append(rules(admissionv1.Create, "pods"), added...),
			FailurePolicy:           &fail,
			MatchPolicy:             &equivalent,
			NamespaceSelector:       namespaces(),
			SideEffects:             &none,
			TimeoutSeconds:          &seconds,
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         conditions,
		}},
	}

	return mutating, validating
}

func calls(path string, ca []byte) admissionv1.WebhookClientConfig {
	url := fmt.Sprintf("https://127.0.0.1:%d%s", Port, path)
	return admissionv1.WebhookClientConfig{URL: &url, CABundle: ca}
}

func rules(o admissionv1.OperationType, resource string) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{o},
		Rule: admissionv1.Rule{
			APIGroups:   []string{""},
			APIVersions: []string{"*"},
			Resources:   []string{resource},
		},
	}}
}

// namespaces returns all but those that upstream's webhook passes by.
func namespaces() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key:      optOut,
		Operator: metav1.LabelSelectorOpNotIn,
		Values:   []string{disabled},
	}}}
}

// condition is true of pods that have a credential spec or name one, in CEL.
func condition() []admissionv1.MatchCondition {
	in := func(where string) string {
		o := where + ".securityContext.windowsOptions"
		return fmt.Sprintf("(has(%s.securityContext) && has(%s) && (has(%s.gmsaCredentialSpecName) || has(%s.gmsaCredentialSpec)))",
			where, o, o, o)
	}
	terms := []string{in("object.spec")}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		terms = append(terms, fmt.Sprintf("(has(object.spec.%s) && object.spec.%s.exists(c, %s))", list, list, in("c")))
	}
	return []admissionv1.MatchCondition{{Name: "has-a-credential-spec", Expression: strings.Join(terms, " || ")}}
}
