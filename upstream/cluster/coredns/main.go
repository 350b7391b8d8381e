// Coredns is CoreDNS with the plugins that a cluster's DNS, and kubeadm's, need, put together as its documentation says:
// https://coredns.io/2017/07/25/compile-time-enabling-or-disabling-plugins/ (section "Build with external Go source
// code"). Upstream's own program also links the SDKs of three clouds, which is why it is not built.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
)

// main runs CoreDNS. The order is that in which plugins see a query; it is upstream's
// (core/dnsserver/zdirectives.go) with the others left out.
func main() {
	dnsserver.Directives = []string{
		"reload", "bind", "ready", "health", "prometheus", "errors", "log", "loadbalance", "cache", "kubernetes",
		"loop", "forward",
	}
	coremain.Run()
}
