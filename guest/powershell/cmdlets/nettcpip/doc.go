// Package nettcpip has the cmdlets for adapters, addresses and routes: those of the modules NetAdapter and NetTCPIP.
package nettcpip
