// Package critools pins cri-tools: crictl, which every Windows host has, and the tests of container runtimes, which
// `make critest` builds.
package critools

import _ "sigs.k8s.io/cri-tools/pkg/validate"
