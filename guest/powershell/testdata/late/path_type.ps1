Test-Path a -PathType Dir
