// Package address has the classes of .NET for places in a network: addresses, URLs and the names of hosts.
package address
