// Package netsecurity has the cmdlets for firewall rules, of the module NetSecurity. The rules are kept and shown;
// nothing filters packets by them.
package netsecurity
