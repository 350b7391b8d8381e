package absent

import (
	_ "embed" // the names
	"slices"
	"strings"
)

// cmdletNames are the nouns of the commands of Windows PowerShell 5.1 and of the modules that Windows Server has, a
// line each with its verbs: those that PSScriptAnalyzer lists for 5.1 on 10.0.14393
// (https://github.com/PowerShell/PSScriptAnalyzer/blob/4b0117ca/Engine/Settings/desktop-5.1.14393.206-windows.json),
// those of the pages of the modules of Windows Server 2016 to 2025
// (https://github.com/MicrosoftDocs/windows-powershell-docs/tree/f113d6bd/docset), and those of PackageManagement and
// PowerShellGet (https://learn.microsoft.com/en-us/powershell/module/?view=powershell-5.1).
//
//go:embed cmdlets.txt
var cmdletNames string

// Cmdlet reports whether Windows has a command of a name, in letters of either case.
func Cmdlet(name string) bool {
	verb, noun, ok := strings.Cut(name, "-")
	if !ok {
		return false
	}
	for line := range strings.Lines(cmdletNames) {
		words := strings.Fields(line)
		if !strings.EqualFold(words[0], noun) {
			continue
		}
		return slices.ContainsFunc(words[1:], func(one string) bool { return strings.EqualFold(one, verb) })
	}
	return false
}

// moduleNames are the modules of Windows Server whose commands cmdlets.txt has, and which are not here.
const moduleNames = " " +
	"activedirectory adcsadministration adcsdeployment addsdeployment adfs adrms adrmsadmin " +
	"appbackgroundtask applocker appvclient appvsequencer appx assignedaccess bestpractices bitlocker " +
	"booteventcollector branchcache clusterawareupdating configci dcbqos deduplication " +
	"defender defenderperformance deliveryoptimization devicehealthattestation dfsn dfsr dhcpserver " +
	"directaccessclientcomponents dnsserver eventtracingmanagement failoverclusters " +
	"failoverclusterset fileserverresourcemanager gatewaytunnel grouppolicy hardwarecertification " +
	"hgsattestation hgsclient hgsdiagnostics hgskeyprotection hgsserver hnvdiagnostics hostcomputeservice " +
	"hyper-v iisadministration international ipamserver iscsitarget ise kds languagepackmanagement laps " +
	"microsoft.diagnosticdataviewer microsoft.powershell.odatautils " +
	"microsoft.refsdedup.commands microsoft.servercore.sconfig microsoft.windows.bcd.cmdlets " +
	"microsoft.windows.servermanager.migration microsoft.wsman.management mmagent mpio msdtc msmq " +
	"multipoint multipointvdi nanoserverimagegenerator netconnection neteventpacketcapture netlbfo " +
	"netlldpagent netnat netqos netswitchteam netwnv networkatc networkconnectivitystatus " +
	"networkcontroller networkcontrollerdiagnostics networkcontrollerfc networkloadbalancingclusters " +
	"networkswitchmanager networktransition nfs nps osconfiguration packagemanagement pcsvdevice " +
	"persistentmemory pester platformidentifier pnpdevice powershellget printmanagement " +
	"processmitigations provisioning psdesiredstateconfiguration psdiagnostics psreadline psscheduledjob " +
	"psworkflow rdmgmt remoteaccess remotedesktop remotedesktopservices secureboot " +
	"securitycmdlets servercore servermanagertasks shieldedvmcmdlets shieldedvmdatafile " +
	"shieldedvmprovisioning shieldedvmtemplate smbwitness smisconfig softwareinventorylogging startlayout " +
	"storagebuscache storagemigrationservice storageqos storagereplica syncshare systeminsights tls " +
	"troubleshootingpack trustedplatformmodule uev updateservices useraccesslogging vamt vmdirectstorage " +
	"vpnclient wdac wds webadministration webapplicationproxy whea windowsdeveloperlicense " +
	"windowsdiagnosticdata windowserrorreporting windowssearch windowsserverbackup windowsupdate " +
	"winhttpproxy "

// Module reports whether Windows Server has a module of a name.
func Module(name string) bool {
	return name != "" && strings.Contains(moduleNames, " "+strings.ToLower(name)+" ")
}
