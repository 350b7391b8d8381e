// Package pattern has the patterns that texts are matched by: wildcards and the regular expressions of .NET.
package pattern
