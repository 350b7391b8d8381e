Set-StrictMode -Off -Version 1.0
