// Package filter makes the table of NetworkPolicies in a node's network namespace look like a policy.Ruleset. It
// decides nothing.
//
// A change is one transaction of the differences: a pod that comes or goes is an element of some sets, and rules change
// only when policies do. The first change of a process replaces the table as a whole, in one transaction too, so that
// no packet ever meets half of a table. The table outlives the process.
package filter
