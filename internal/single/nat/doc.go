// Package nat owns the network of single containers: their network namespaces and interfaces, the sockets of published
// ports, and the process mullion-nat that is the gateway behind them (package gateway), which is started again if it
// ends. Nothing of it is in the machine's interfaces, routes, firewall or switches: a container's interface is in the
// container's namespace alone, and sockets go with their processes.
//
// It does not own what containers reach and how (package gateway), nor the containers.
package nat
