// Package enforcer carries out the cluster's NetworkPolicies on the nodes of one machine: it watches pods, namespaces
// and policies, and keeps a table of nftables in each node's network namespace (packages policy and filter). It is a
// component of the cluster's supervisor. In a cluster that does not carry policies out, Notice says so.
//
//	API ─▶ informers ─┐
//	                  ├─▶ policy.Compile ─▶ filter.Apply, for each node
//	pods' addresses ──┘
//	(package cover)
//
// # What is guaranteed
//
// A pod's addresses are told here before its programs start, by the CNI plugin mullion-policy on Linux nodes and by the
// agent on Windows nodes. Whoever tells them waits until the tables of all nodes of the machine have them, and without
// an answer the pod does not start. So every policy that has reached the watch by then holds for the pod's first
// packet. Later policies, and pods of other machines as peers, hold as soon as the watch brings them.
//
// The tables outlive the supervisor, and addresses that no kubelet has reported yet are read back from them.
package enforcer
