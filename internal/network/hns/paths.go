package hns

import "mullion.dev/mullion/internal/base/support"

// Paths of HNSCall that are not about objects of the model.
const (
	versionPath = "globals/version"
	// StatsPath is followed by the endpoint whose statistics are asked for. The service around the model answers it.
	StatsPath = "endpointstats"
)

// path is a path of HNSCall and what is done with it.
type path struct {
	// name is what the path begins with.
	name string
	// do carries out a call of the path; nil: the path is not about objects of the model.
	do    func(m *Model, r v1Request) (any, error)
	level support.Level
	// file is where hnslib has the path, below refHnslib.
	file string
	note string
}

// paths returns a row for each path of HNS version 1. A path that is not among them is not implemented.
func paths() []path {
	const full, partly, none = support.Supported, support.Partly, support.Not
	return []path{
		{"networks", (*Model).v1Networks, full, "internal/hns/hnsnetwork.go", ""},
		{"endpoints", (*Model).v1Endpoints, partly, "internal/hns/hnsendpoint.go", noteV1Endpoints},
		{StatsPath, nil, full, "internal/hns/hnsendpoint.go", ""},
		{"namespaces", (*Model).v1Namespaces, full, "internal/hns/namespace.go", ""},
		{"policylists", (*Model).v1PolicyLists, full, "internal/hns/hnspolicylist.go", ""},
		{versionPath, nil, full, "hcn/hcnglobals.go", ""},
		{"accelnet", nil, none, "internal/hns/hnsaccelnet.go", "E_NOTIMPL: there are no network cards to accelerate"},
	}
}

func pathsByName() map[string]path {
	all := map[string]path{}
	for _, p := range paths() {
		all[p.name] = p
	}
	return all
}
