package suite

// smoke returns the names of the specs in the suite smoke: one for each thing that a Windows node can do. A test of
// package runner checks that e2e.test has them.
func smoke() []string {
	return []string{
		`[sig-api-machinery] AdmissionWebhook [Privileged:ClusterAdmin] should be able to deny pod and configmap creation [Conformance]`,
		`[sig-apps] Deployment RollingUpdateDeployment should delete old pods and create new ones [Conformance]`,
		`[sig-apps] Job should create pods for an Indexed job with completion indexes and specified hostname [Conformance]`,
		`[sig-auth] ServiceAccounts should mount projected service account token [Conformance]`,
		`[sig-network] DNS should provide DNS for services [Conformance]`,
		`[sig-network] Networking Granular Checks: Pods should function for intra-pod communication: http [NodeConformance] [Conformance]`,
		`[sig-network] Services should be able to create a functioning NodePort service [Conformance]`,
		`[sig-network] Services should serve a basic endpoint from pods [Conformance]`,
		`[sig-node] ConfigMap should be consumable via the environment [NodeConformance] [Conformance]`,
		`[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook should execute prestop exec hook properly [NodeConformance] [Conformance]`,
		`[sig-node] Container Runtime blackbox test on terminated container should report termination message from file when pod succeeds and TerminationMessagePolicy FallbackToLogsOnError is set [NodeConformance] [Conformance]`,
		`[sig-node] Containers should be able to override the image's default command and arguments [NodeConformance] [Conformance]`,
		`[sig-node] Containers should use the image defaults if command and args are blank [NodeConformance] [Conformance]`,
		`[sig-node] Ephemeral Containers [NodeConformance] will start an ephemeral container in an existing pod [Conformance]`,
		`[sig-node] InitContainer [NodeConformance] should invoke init containers on a RestartNever pod [Conformance]`,
		`[sig-node] Kubelet when scheduling a busybox command in a pod should print the output to logs [NodeConformance] [Conformance]`,
		`[sig-node] KubeletManagedEtcHosts should test kubelet managed /etc/hosts file [NodeConformance] [Conformance]`,
		`[sig-node] Pods should be submitted and removed [NodeConformance] [Conformance]`,
		`[sig-node] Pods should support remote command execution over websockets [NodeConformance] [Conformance]`,
		`[sig-node] Probing container should be restarted with a /healthz http liveness probe [NodeConformance] [Conformance]`,
		`[sig-node] Probing container should be restarted with a exec "cat /tmp/health" liveness probe [NodeConformance] [Conformance]`,
		`[sig-storage] Downward API volume should provide podname only [NodeConformance] [Conformance]`,
		`[sig-storage] Projected configMap updates should be reflected in volume [NodeConformance] [Conformance]`,
		`[sig-storage] Secrets should be consumable from pods in volume [NodeConformance] [Conformance]`,
		`[sig-storage] Subpath Atomic writer volumes should support subpaths with configmap pod [Conformance]`,
		`[sig-windows] Hybrid cluster network for all supported CNIs should have stable networking for Linux and Windows pods`,
		`[sig-windows] [Feature:WindowsHostProcessContainers] HostProcess containers should run as a process on the host/node`,
		`[sig-windows] [Feature:Windows] Kubelet-Stats Kubelet stats collection for Windows nodes when running 3 pods should return within 10 seconds`,
		`[sig-windows] [Feature:Windows] SecurityContext should be able create pods and run containers with a given username`,
	}
}
