// Package cimcmdlets has the cmdlets for WMI: those of the module CimCmdlets, and Get-WmiObject.
package cimcmdlets
