package powershell

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/cmdlets/archive"
	"mullion.dev/mullion/guest/powershell/cmdlets/bitstransfer"
	"mullion.dev/mullion/guest/powershell/cmdlets/cimcmdlets"
	"mullion.dev/mullion/guest/powershell/cmdlets/diagnostics"
	"mullion.dev/mullion/guest/powershell/cmdlets/dnsclient"
	"mullion.dev/mullion/guest/powershell/cmdlets/history"
	"mullion.dev/mullion/guest/powershell/cmdlets/hostnetworking"
	"mullion.dev/mullion/guest/powershell/cmdlets/jobs"
	"mullion.dev/mullion/guest/powershell/cmdlets/localaccounts"
	"mullion.dev/mullion/guest/powershell/cmdlets/management"
	"mullion.dev/mullion/guest/powershell/cmdlets/netsecurity"
	"mullion.dev/mullion/guest/powershell/cmdlets/nettcpip"
	"mullion.dev/mullion/guest/powershell/cmdlets/pki"
	"mullion.dev/mullion/guest/powershell/cmdlets/scheduledtasks"
	"mullion.dev/mullion/guest/powershell/cmdlets/security"
	"mullion.dev/mullion/guest/powershell/cmdlets/servermanager"
	"mullion.dev/mullion/guest/powershell/cmdlets/smbshare"
	"mullion.dev/mullion/guest/powershell/cmdlets/storage"
	"mullion.dev/mullion/guest/powershell/cmdlets/utility"
	"mullion.dev/mullion/guest/powershell/engine"
)

// Cmdlets returns all implemented cmdlets: a session has them, and docs/compat/shells.md lists them.
func Cmdlets() []cmdlet.Cmdlet {
	return slices.Concat(
		utility.Cmdlets(),
		management.Cmdlets(),
		security.Cmdlets(),
		archive.Cmdlets(),
		jobs.Cmdlets(),
		diagnostics.Cmdlets(),
		hostnetworking.Cmdlets(),
		nettcpip.Cmdlets(),
		netsecurity.Cmdlets(),
		dnsclient.Cmdlets(),
		storage.Cmdlets(),
		smbshare.Cmdlets(),
		cimcmdlets.Cmdlets(),
		pki.Cmdlets(),
		history.Cmdlets(),
		servermanager.Cmdlets(),
		localaccounts.Cmdlets(),
		scheduledtasks.Cmdlets(),
		bitstransfer.Cmdlets(),
		engine.Cmdlets(),
	)
}
