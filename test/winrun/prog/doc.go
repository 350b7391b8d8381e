// Package main is the Windows program that the tests of package winrun run under Wine: one verb a behaviour.
package main
