Get-InitiatorPort | Connect-IscsiTarget
