Test-Path Registry::HKEY_PERFORMANCE_DATA\x
