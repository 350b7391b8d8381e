Set-StrictMode -Off -Version 1.0
'it goes on'
