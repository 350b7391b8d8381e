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
		`[sig-network] Networking Granular Checks: Pods should function for intra-pod communication: http [Conformance] [NodeConformance]`,
		`[sig-network] Services should be able to create a functioning NodePort service [Conformance]`,
		`[sig-network] Services should serve a basic endpoint from pods [Conformance]`,
		`[sig-node] ConfigMap should be consumable via the environment [Conformance] [NodeConformance]`,
		`[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook should execute prestop exec hook properly [Conformance] [NodeConformance]`,
		`[sig-node] Container Runtime blackbox test on terminated container should report termination message from file when pod succeeds and TerminationMessagePolicy FallbackToLogsOnError is set [Conformance] [NodeConformance]`,
		`[sig-node] Containers should be able to override the image's default command and arguments [Conformance] [NodeConformance]`,
		`[sig-node] Containers should use the image defaults if command and args are blank [Conformance] [NodeConformance]`,
		`[sig-node] Ephemeral Containers will start an ephemeral container in an existing pod [Conformance] [NodeConformance]`,
		`[sig-node] InitContainer should invoke init containers on a RestartNever pod [Conformance] [NodeConformance]`,
		`[sig-node] Kubelet when scheduling a busybox command in a pod should print the output to logs [Conformance] [NodeConformance]`,
		`[sig-node] KubeletManagedEtcHosts should test kubelet managed /etc/hosts file [Conformance] [NodeConformance]`,
		`[sig-node] Pods should be submitted and removed [Conformance] [NodeConformance]`,
		`[sig-node] Pods should support remote command execution over websockets [Conformance] [NodeConformance]`,
		`[sig-node] Probing container should be restarted with a /healthz http liveness probe [Conformance] [NodeConformance]`,
		`[sig-node] Probing container should be restarted with a exec "cat /tmp/health" liveness probe [Conformance] [NodeConformance]`,
		`[sig-storage] Downward API volume should provide podname only [Conformance] [NodeConformance]`,
		`[sig-storage] Projected configMap updates should be reflected in volume [Conformance] [NodeConformance]`,
		`[sig-storage] Secrets should be consumable from pods in volume [Conformance] [NodeConformance]`,
		`[sig-storage] Subpath Atomic writer volumes should support subpaths with configmap pod [Conformance]`,
		`[sig-windows] Hybrid cluster network for all supported CNIs should have stable networking for Linux and Windows pods`,
		`[sig-windows] [Feature:WindowsHostProcessContainers] HostProcess containers should run as a process on the host/node`,
		`[sig-windows] [Feature:Windows] Kubelet-Stats Kubelet stats collection for Windows nodes when running 3 pods should return within 10 seconds`,
		`[sig-windows] [Feature:Windows] SecurityContext should be able create pods and run containers with a given username`,
	}
}
