// Package policy owns what NetworkPolicies mean (networking.k8s.io/v1): from pods, namespaces and policies it says
// which connections each pod of a node may have, and writes that as a table of nftables. It is pure: it watches nothing
// and changes nothing (packages enforcer and filter do).
//
//	Objects ─▶ Compile ─▶ Cluster ─▶ Node(name) ─▶ Ruleset ─▶ filter
//
// What the documents say, and where it is carried out
// (https://kubernetes.io/docs/concepts/services-networking/network-policies/, of 1.37):
//
//	a pod that no policy selects may have every connection          no element of the table's maps has it
//	policies add up; a pod's chain is the union of their rules      access.go
//	replies of a connection that was let pass always pass           the first rule of the chain forward
//	a pod reaches itself                                            the set self
//	a node and its pods reach each other                            the table looks at forwarded packets alone
//	pods on the host's network are not selected, nor are they peers pods.go
//	addresses of Services have become those of pods                 the chain comes after the translation of destinations
//
// A connection that was open before a policy forbids it goes on: the documents leave that to the implementation.
package policy
