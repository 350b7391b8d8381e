// Package dnsclient has Resolve-DnsName, of the module DnsClient.
package dnsclient
