Get-ChildItem Registry::
