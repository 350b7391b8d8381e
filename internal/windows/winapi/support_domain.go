package winapi

import "mullion.dev/mullion/internal/base/support"

// domainRow says what a container learns of its domain.
func domainRow() support.Row {
	return support.Row{
		Name:  "nltest, klist, NetGetJoinInformation, DsGetDcName",
		Level: support.Partly,
		Ref:   "https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/#troubleshooting",
		Note: "in a container with a credential spec its domain; nltest is Mullion's, with /parentdomain, /query, /sc_query, /sc_verify, /sc_reset and /dsgetdc; klist lists tickets and purges none. There is no Netlogon: a " +
			"secure channel stands for a ticket that the domain has given. Elsewhere a workgroup, and RPC_S_SERVER_UNAVAILABLE; other functions that ask for the domain say so everywhere",
	}
}
