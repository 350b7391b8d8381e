[System.Security.AccessControl.FileSystemAccessRule]::new("Everyone", "Read", "None", "Allow")
