Write-Verbose quiet
Write-Verbose loud -Verbose
$VerbosePreference = 'Continue'
Write-Verbose on
'piped' | Write-Verbose
$DebugPreference = 'Continue'
Write-Debug on
Write-Warning careful
$WarningPreference = 'SilentlyContinue'
Write-Warning quiet
$ProgressPreference = 'SilentlyContinue'
