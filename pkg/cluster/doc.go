// Package cluster makes and removes Kubernetes clusters with Windows nodes on this machine, from a program: it runs
// mullion, which has to be installed. Names, order and meaning are those of kind's package of the same name
// (https://pkg.go.dev/sigs.k8s.io/kind/pkg/cluster). It imports nothing but Go's own packages.
//
//	p := cluster.NewProvider()
//	err := p.Create("shop", cluster.CreateWithWindowsVersions("ltsc2022"))
//	config, err := p.KubeConfig("shop", false)
//	err = p.Delete("shop", "")
//
// Clusters are made by root. Anybody else needs sudo without a password (sudo -n), as CI's runners have.
package cluster
