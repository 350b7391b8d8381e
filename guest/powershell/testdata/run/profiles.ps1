# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_profiles
"$PROFILE"
$PROFILE.AllUsersAllHosts
$PROFILE.AllUsersCurrentHost
$PROFILE.CurrentUserAllHosts
$PROFILE.CurrentUserCurrentHost -eq $PROFILE
$PROFILE.Length
