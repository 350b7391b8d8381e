# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_profiles
"$PROFILE"
