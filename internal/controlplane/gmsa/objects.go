package gmsa

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// object is a part of a manifest.
type object = map[string]any

// definition is the CustomResourceDefinition, as windows-gmsa has it: v1 is stored, v1alpha1 served too.
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
func apply(ctx context.Context, client kubernetes.Interface, ca []byte) error {
	crd := definition()
	body, err := json.Marshal(crd)
	if err != nil {
		return fmt.Errorf("encode definition of %s: %w", kind, err)
	}
	err = client.Discovery().RESTClient().Patch(types.ApplyYAMLPatchType).
		AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+resource+"."+group).
		Param("fieldManager", fieldManager).Param("force", "true").Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("apply definition of %s: %w", kind, err)
	}
	force := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	mutating := admissionapply.MutatingWebhookConfiguration(webhookName).WithWebhooks(
		admissionapply.MutatingWebhook().WithName(webhookName).WithClientConfig(calls("/mutate", ca)).
			WithRules(rules(admissionv1.Create, "pods")...).WithFailurePolicy(admissionv1.Fail).
			WithAdmissionReviewVersions("v1").WithSideEffects(admissionv1.SideEffectClassNone).
			WithMatchPolicy(admissionv1.Equivalent).WithReinvocationPolicy(admissionv1.IfNeededReinvocationPolicy).
			WithNamespaceSelector(namespaces()).WithMatchConditions(condition()).WithTimeoutSeconds(10))
	configurations := client.AdmissionregistrationV1()
	if _, err := configurations.MutatingWebhookConfigurations().Apply(ctx, mutating, force); err != nil {
		return fmt.Errorf("apply mutating webhook %q: %w", webhookName, err)
	}
	added := rules(admissionv1.Update, "pods/ephemeralcontainers")
	validating := admissionapply.ValidatingWebhookConfiguration(webhookName).WithWebhooks(
		admissionapply.ValidatingWebhook().WithName(webhookName).WithClientConfig(calls("/validate", ca)).
			WithRules(append(rules(admissionv1.Create, "pods"), added...)...).WithFailurePolicy(admissionv1.Fail).
			WithAdmissionReviewVersions("v1").WithSideEffects(admissionv1.SideEffectClassNone).
			WithMatchPolicy(admissionv1.Equivalent).
			WithNamespaceSelector(namespaces()).WithMatchConditions(condition()).WithTimeoutSeconds(10))
	_, err = configurations.ValidatingWebhookConfigurations().Apply(ctx, validating, force)
	if err != nil {
		return fmt.Errorf("apply validating webhook %q: %w", webhookName, err)
	}
	return nil
}

func calls(path string, ca []byte) *admissionapply.WebhookClientConfigApplyConfiguration {
	return admissionapply.WebhookClientConfig().WithURL(fmt.Sprintf("https://127.0.0.1:%d%s", Port, path)).WithCABundle(ca...)
}

func rules(o admissionv1.OperationType, resource string) []*admissionapply.RuleWithOperationsApplyConfiguration {
	return []*admissionapply.RuleWithOperationsApplyConfiguration{
		admissionapply.RuleWithOperations().WithOperations(o).WithAPIGroups("").WithAPIVersions("*").
			WithResources(resource),
	}
}

// namespaces are all but those that upstream's webhook passes by.
func namespaces() *metaapply.LabelSelectorApplyConfiguration {
	return metaapply.LabelSelector().WithMatchExpressions(metaapply.LabelSelectorRequirement().
		WithKey(optOut).WithOperator(metav1.LabelSelectorOpNotIn).WithValues(disabled))
}

// condition is true of pods that have a credential spec or name one, in CEL.
func condition() *admissionapply.MatchConditionApplyConfiguration {
	in := func(where string) string {
		o := where + ".securityContext.windowsOptions"
		return fmt.Sprintf("(has(%s.securityContext) && has(%s) && (has(%s.gmsaCredentialSpecName) || has(%s.gmsaCredentialSpec)))",
			where, o, o, o)
	}
	terms := []string{in("object.spec")}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		terms = append(terms, fmt.Sprintf("(has(object.spec.%s) && object.spec.%s.exists(c, %s))", list, list, in("c")))
	}
	return admissionapply.MatchCondition().WithName("has-a-credential-spec").WithExpression(strings.Join(terms, " || "))
}
