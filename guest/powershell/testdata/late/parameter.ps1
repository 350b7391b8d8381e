Get-ChildItem -UseTransaction
