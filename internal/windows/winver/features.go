package winver

// Feature is something Kubernetes may use on a Windows node that depends on the build.
type Feature string

// The features, by the name used in documents and messages.
const (
	SharedNetwork     Feature = "shared-network"
	HNSv2             Feature = "hns-v2"
	Overlay           Feature = "overlay"
	DSR               Feature = "direct-server-return"
	DualStack         Feature = "dual-stack"
	SessionAffinity   Feature = "session-affinity"
	SetPolicy         Feature = "set-policy"
	TierACL           Feature = "tiered-acl"
	ModifyLB          Feature = "modify-load-balancer"
	HostProcess       Feature = "host-process-containers"
	BindFilter        Feature = "bind-filter"
	SingleFileMapping Feature = "single-file-mapping"
	GMSA              Feature = "gmsa"
	DownLevel         Feature = "down-level-containers"
)

// FeatureRow says which build was the first with a feature.
type FeatureRow struct {
	Feature Feature
	// Since is the first build number that has it, at the servicing level of the catalogue.
	Since uint32
	// Note says what the feature is for.
	Note string
	// Ref is where the fact is from.
	Ref string
}

// Supports reports whether the build has the feature.
func (b Build) Supports(f Feature) bool {
	for _, row := range Features() {
		if row.Feature == f {
			return b.Version.Build >= row.Since
		}
	}
	return false
}

// Features lists every feature with the first build that has it.
func Features() []FeatureRow {
	const (
		hcn      = "https://github.com/microsoft/hnslib/blob/v0.1.2/hcn/hcnglobals.go"
		services = "https://kubernetes.io/docs/concepts/services-networking/windows-networking/"
		intro    = "https://kubernetes.io/docs/concepts/windows/intro/"
	)

	return []FeatureRow{
		{
			SharedNetwork, 16299, "the containers of a pod share its network; before, a pod has one container",
			"https://github.com/kubernetes/kubernetes/blob/v1.19.0/pkg/kubelet/dockershim/helpers_windows.go",
		},
		{HNSv2, 17763, "networks, endpoints and namespaces through computenetwork.dll; kube-proxy needs it", hcn},
		{Overlay, 17763, "VXLAN networks with remote subnets (HNS 9.2)", hcn},
		{DSR, 17763, "load balancer answers go back directly (HNS 9.3, 10.2)", hcn},
		{DualStack, 19041, "IPv4 and IPv6 on L2Bridge networks (HNS 11.10); never on overlay", services},
		{SessionAffinity, 20348, "Services with sessionAffinity ClientIP (HNS 12.0)", services},
		{SetPolicy, 20348, "named address sets in access rules (HNS 13.0)", hcn},
		{TierACL, 25398, "access rules in tiers (HNS 14.0)", hcn},
		{ModifyLB, 25398, "a load balancer is changed in place (HNS 15.5)", hcn},
		{
			HostProcess, 17763, "HostProcess containers",
			"https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/",
		},
		{
			BindFilter, 20348, `HostProcess containers see their image at C:\hpc; before, at C:\hpc\<id>`,
			"https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/internal/jobcontainers/jobcontainer.go",
		},
		{SingleFileMapping, 17763, "a volume may be one file", "https://github.com/kubernetes/kubernetes/issues/71422"},
		{
			GMSA, 17763, "group managed service accounts",
			"https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/",
		},
		{DownLevel, 20349, "process-isolated containers of an older build", intro},
	}
}
