// Package critest pins cri-tools, whose tests of container runtimes `make critest` builds.
package critest

import _ "sigs.k8s.io/cri-tools/pkg/validate"
