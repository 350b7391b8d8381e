# A FlexVolume driver for disks of iSCSI, in the form of Microsoft's for Windows nodes (https://github.com/microsoft/K8s-Storage-Plugins): it logs in to
# the target, makes a volume on the disk if there is none, and has the pod's folder lead to it. It keeps no reservations.
$ErrorActionPreference = "Stop"

function Get-Options {
    $me = Get-WmiObject Win32_Process -Filter "ProcessId='$PID'"
    $line = (Get-WmiObject Win32_Process -Filter "ProcessId='$($me.ParentProcessId)'").CommandLine
    $json = $line.Substring($line.IndexOf('{'), $line.LastIndexOf('}') - $line.IndexOf('{') + 1)
    return $json.Replace('\"', '"') | ConvertFrom-Json
}

function Read-Secret($text) {
    return [System.Text.Encoding]::UTF8.GetString([System.Convert]::FromBase64String($text))
}

function Mount-Disk($folder, $options) {
    $known = @(Get-IscsiTargetPortal | Where-Object { $_.TargetPortalAddress -eq $options.targetPortal })
    if ($known.Count -eq 0) {
        New-IscsiTargetPortal -TargetPortalAddress $options.targetPortal | Out-Null
    }
    $target = Get-IscsiTarget -NodeAddress $options.iqn
    if (-not $target.IsConnected) {
        $target | Connect-IscsiTarget -ReportToPnP $true -TargetPortalAddress $options.targetPortal -AuthenticationType $options.authType `
            -ChapUsername (Read-Secret $options.'kubernetes.io/secret/node.session.auth.username') `
            -ChapSecret (Read-Secret $options.'kubernetes.io/secret/node.session.auth.password') | Out-Null
    }
    $disk = Get-IscsiTarget -NodeAddress $options.iqn | Get-IscsiConnection | Get-Disk | Where-Object { $_.Location -like "*: LUN $($options.lun)" }
    if ($disk.PartitionStyle -eq 'RAW') {
        $disk | Initialize-Disk -PartitionStyle GPT | Out-Null
    }
    $parts = @(Get-Partition -DiskNumber $disk.Number | Where-Object { $_.Type -eq 'Basic' })
    if ($parts.Count -eq 0) {
        $parts = @(New-Partition -DiskNumber $disk.Number -UseMaximumSize)
    }
    $volume = $parts[0] | Get-Volume
    if ($volume.FileSystem -ne 'NTFS') {
        $volume | Format-Volume -FileSystem NTFS | Out-Null
    }
    New-Item -ItemType Directory -Force -Path $folder | Out-Null
    $parts[0] | Add-PartitionAccessPath -AccessPath $folder
}

function Dismount-Disk($folder) {
    foreach ($part in @(Get-Partition)) {
        if ($part.AccessPaths -contains ($folder + '\')) {
            $disk = Get-Disk -Number $part.DiskNumber
            $part | Remove-PartitionAccessPath -AccessPath $folder
            Remove-Item $folder
            $session = Get-IscsiSession | Where-Object { @($_ | Get-Disk).Number -contains $disk.Number }
            Disconnect-IscsiTarget -SessionIdentifier $session.SessionIdentifier -Confirm:$false
        }
    }
}

try {
    $answer = @{ status = 'Success' }
    $folder = "$Env:flexvolume_folder".Replace('/', '\')
    switch ($Env:flexvolume_command) {
        'init' { $answer.capabilities = @{ attach = $false } }
        'mount' { Mount-Disk $folder (Get-Options) }
        'unmount' { Dismount-Disk $folder }
        default { $answer = @{ status = 'Not supported' } }
    }
    ConvertTo-Json -Compress -InputObject $answer
}
catch {
    ConvertTo-Json -Compress -InputObject @{ status = 'Failure'; message = "$_" }
    exit 1
}
