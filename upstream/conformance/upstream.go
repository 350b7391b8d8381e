// Package conformance pins Kubernetes' e2e tests: `go test -c k8s.io/kubernetes/test/e2e` in this module makes
// e2e.test. The programs of the tests' images are listed in go.mod. What go.mod shares with Mullion's own has the same
// versions, so that compiled packages are shared (docs/design/0003-conformance.md). Nothing here runs.
package conformance

import _ "k8s.io/kubernetes/test/e2e" // a module keeps what the tests of the packages that it imports need
