package hns

import "mullion.dev/mullion/internal/base/support"

// Operation is what a function does.
type Operation string

// Operations of the model, on the objects of a kind.
const (
	Enumerate Operation = "enumerate"
	Create    Operation = "create"
	Open      Operation = "open"
	Query     Operation = "query"
	Modify    Operation = "modify"
	Delete    Operation = "delete"
	Close     Operation = "close"
	// Version1 is a call of HNS version 1. Its method and path say what it does, see paths.
	Version1 Operation = "version 1"
)

// Operations of the service around the model. The model itself answers that they are not implemented.
const (
	QueryStats   Operation = "query statistics"
	Watch        Operation = "watch"
	Reserve      Operation = "reserve"
	Release      Operation = "release"
	ListReserved Operation = "list reservations"
)

// Operations for which no library asks the service. It answers that they are not implemented.
const (
	// InLibrary is an operation that the library carries out alone.
	InLibrary Operation = "in the library"
	// NotExported marks a function that Windows' library has and ours does not have.
	NotExported Operation = "not exported"
)

// Call is a function by which Windows programs call HNS: an export of computenetwork.dll, or HNSCall of vmcompute.dll.
type Call struct {
	// Name is the name of the export; Request.Function has it.
	Name string
	// Kind is the kind of the objects that the function is about; empty: it is about none.
	Kind      Kind
	Operation Operation
	from      source
	// Level says how much of the function is there, and Note how far it goes.
	Level support.Level
	Note  string
}

// source is where a function is described.
type source struct {
	ref string
	// since is the first build of Windows for which Microsoft documents the function on a page of its own. Then ref is
	// the folder of these pages. 0: the function has no page, and ref is another description.
	since uint32
}

// Calls returns the functions by their names. A function that is not among them is not implemented.
func Calls() map[string]Call {
	all := map[string]Call{}
	for _, c := range calls() {
		all[c.Name] = c
	}
	return all
}

// Function returns the name of the function that carries out the operation on objects of the kind. It is empty if there
// is none.
func Function(o Operation, k Kind) string {
	for _, c := range calls() {
		if c.Operation == o && c.Kind == k {
			return c.Name
		}
	}
	return ""
}

// calls returns a row for each function that computenetwork.dll exports on Windows, and for HNSCall. A test of guest/c
// holds these rows, the exports of our libraries and the support table together.
func calls() []Call {
	docs := source{refReference, 17763} // Windows Server 2019
	hnslib, events := source{ref: refHnslib + "hcn/hcn.go"}, source{ref: refEvents}
	guests := source{ref: refReference + "HcnCreateGuestNetworkService"}
	const full, partly, none = support.Supported, support.Partly, support.Not

	return []Call{
		{"HcnEnumerateNetworks", Networks, Enumerate, docs, partly, "filters by ID, name and type"},
		{"HcnCreateNetwork", Networks, Create, docs, full, ""},
		{"HcnOpenNetwork", Networks, Open, docs, full, ""},
		{"HcnQueryNetworkProperties", Networks, Query, docs, full, ""},
		{"HcnModifyNetwork", Networks, Modify, docs, partly, noteModifyNetwork},
		{"HcnDeleteNetwork", Networks, Delete, docs, full, ""},
		{"HcnCloseNetwork", Networks, Close, docs, full, ""},
		{"HcnRegisterNetworkCallback", Networks, Watch, events, full, "reports endpoints that are attached and detached"},
		{"HcnUnregisterNetworkCallback", Networks, InLibrary, events, full, ""},

		{"HcnEnumerateEndpoints", Endpoints, Enumerate, docs, partly, noteFilterEndpoints},
		{"HcnCreateEndpoint", Endpoints, Create, docs, full, ""},
		{"HcnOpenEndpoint", Endpoints, Open, docs, full, ""},
		{"HcnQueryEndpointProperties", Endpoints, Query, docs, full, ""},
		{"HcnModifyEndpoint", Endpoints, Modify, docs, partly, noteModifyEndpoint},
		{"HcnDeleteEndpoint", Endpoints, Delete, docs, full, ""},
		{"HcnCloseEndpoint", Endpoints, Close, docs, full, ""},
		{"HcnQueryEndpointStats", Endpoints, QueryStats, source{ref: refHCN}, full, ""},
		{"HcnQueryEndpointAddresses", Endpoints, NotExported, events, none, noteNoAnswers},

		{"HcnEnumerateNamespaces", Namespaces, Enumerate, docs, partly, "filters by ID and type"},
		{"HcnCreateNamespace", Namespaces, Create, docs, partly, noteCreateNamespace},
		{"HcnOpenNamespace", Namespaces, Open, docs, full, ""},
		{"HcnQueryNamespaceProperties", Namespaces, Query, docs, full, ""},
		{"HcnModifyNamespace", Namespaces, Modify, docs, full, ""},
		{"HcnDeleteNamespace", Namespaces, Delete, docs, full, ""},
		{"HcnCloseNamespace", Namespaces, Close, docs, full, ""},

		{"HcnEnumerateLoadBalancers", LoadBalancers, Enumerate, docs, partly, "filters by ID and SourceVIP"},
		{"HcnCreateLoadBalancer", LoadBalancers, Create, docs, full, ""},
		{"HcnOpenLoadBalancer", LoadBalancers, Open, docs, full, ""},
		{"HcnQueryLoadBalancerProperties", LoadBalancers, Query, docs, full, ""},
		{"HcnModifyLoadBalancer", LoadBalancers, Modify, docs, full, ""},
		{"HcnDeleteLoadBalancer", LoadBalancers, Delete, docs, full, noteDeleteBalancer},
		{"HcnCloseLoadBalancer", LoadBalancers, Close, docs, full, ""},

		{"HcnEnumerateSdnRoutes", SdnRoutes, Enumerate, hnslib, partly, "filters by ID"},
		{"HcnCreateSdnRoute", SdnRoutes, Create, hnslib, partly, noteSdnRoute},
		{"HcnOpenSdnRoute", SdnRoutes, Open, hnslib, full, ""},
		{"HcnQuerySdnRouteProperties", SdnRoutes, Query, hnslib, full, ""},
		{"HcnModifySdnRoute", SdnRoutes, Modify, hnslib, partly, "as HcnCreateSdnRoute"},
		{"HcnDeleteSdnRoute", SdnRoutes, Delete, hnslib, full, ""},
		{"HcnCloseSdnRoute", SdnRoutes, Close, hnslib, full, ""},

		{"HcnEnumerateGuestNetworkServices", GuestNetworkServices, Enumerate, guests, partly, noteFilterGuests},
		{"HcnCreateGuestNetworkService", GuestNetworkServices, Create, docs, partly, noteCreateGuest},
		{"HcnOpenGuestNetworkService", GuestNetworkServices, Open, guests, full, ""},
		{"HcnQueryGuestNetworkServiceProperties", GuestNetworkServices, Query, guests, full, ""},
		{"HcnModifyGuestNetworkService", GuestNetworkServices, Modify, docs, partly, noteModifyGuest},
		{"HcnDeleteGuestNetworkService", GuestNetworkServices, Delete, docs, full, ""},
		{"HcnCloseGuestNetworkService", GuestNetworkServices, Close, docs, full, ""},
		{"HcnRegisterGuestNetworkServiceCallback", GuestNetworkServices, Watch, docs, partly, noteWatchGuest},
		{"HcnUnregisterGuestNetworkServiceCallback", GuestNetworkServices, InLibrary, docs, full, ""},

		{"HcnReserveGuestNetworkServicePort", GuestNetworkServices, Reserve, docs, full, noteReserve},
		{"HcnReserveGuestNetworkServicePortRange", GuestNetworkServices, Reserve, docs, full, noteReserveRange},
		{"HcnReleaseGuestNetworkServicePortReservationHandle", "", Release, docs, full, ""},
		{"HcnEnumerateGuestNetworkPortReservations", "", ListReserved, docs, partly, noteListReserved},
		{"HcnFreeGuestNetworkPortReservations", "", InLibrary, docs, full, ""},

		{"HcnRegisterServiceCallback", "", Watch, docs, full, noteWatch},
		{"HcnUnregisterServiceCallback", "", InLibrary, docs, full, ""},
		{"HcnQueryFeatures", "", NotExported, events, none, noteNoAnswers},
		{"HcnQueryMetrics", "", NotExported, events, none, noteNoAnswers},

		{"HNSCall", "", Version1, source{ref: refHnslib + "internal/hns/hnsfuncs.go"}, partly, "see its paths"},
	}
}
